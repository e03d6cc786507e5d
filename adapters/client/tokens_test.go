// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerclient_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinformerclient "github.com/kinformer/cache/adapters/client"
)

// begin returns the token of a list's second page.
func (r *rig) begin(reader client.Reader, options ...client.ListOption) (token string) {
	var pods corev1.PodList
	require.NoError(r, reader.List(r.Context(), &pods, append(slices.Clone(options), client.Limit(1))...))
	require.NotEmpty(r, pods.Continue)
	return pods.Continue
}

// expires checks that a client with that token is asked to start again, and returns the reason.
func (r *rig) expires(reader client.Reader, token string, options ...client.ListOption) string {
	err := reader.List(r.Context(), &corev1.PodList{}, append(slices.Clone(options), client.Continue(token))...)
	require.True(r, apierrors.IsResourceExpired(err), "%q: %v", token, err)
	require.EqualValues(r, http.StatusGone, err.(apierrors.APIStatus).Status().Code)
	require.ErrorContains(r, err, "Start the list again without a token")
	return err.Error()
}

// isBad checks that a client with that token is not asked to start again, and returns the reason.
func (r *rig) isBad(token string, into client.ObjectList, options ...client.ListOption) string {
	err := r.reader.List(r.Context(), into, append(slices.Clone(options), client.Continue(token))...)
	require.True(r, apierrors.IsBadRequest(err), "%q: %v", token, err)
	return err.Error()
}

// TestTokensOfAnotherReader: a token of another Reader, also of the same cache, has expired, whatever
// lists this one has. Each Reader answers its own tokens.
func TestTokensOfAnotherReader(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		readers := []client.Reader{r.reader, sortable{kinformerclient.NewReader(r.cache, scheme.Scheme)}, sortable{kinformerclient.NewReader(r.cache, scheme.Scheme)}}
		tokens := make([]string, len(readers))
		for i, reader := range readers {
			tokens[i] = r.begin(reader)
			require.Regexp(r, regexp.MustCompile(`^[A-Z2-7]{8}-1/ns0/p\d{3}$`), tokens[i])
		}
		for i, reader := range readers {
			for j, token := range tokens {
				if i != j {
					require.Contains(r, r.expires(reader, token), "another Reader")
					require.Contains(r, r.expires(reader, token, byName, client.InNamespace("ns3")), "another Reader", "other options matter less")
				}
			}
		}
		require.Equal(r, len(readers), r.snapshots())
		for i, reader := range readers {
			var pods corev1.PodList
			require.NoError(r, reader.List(r.Context(), &pods, client.Continue(tokens[i])))
			require.Len(r, pods.Items, 199)
		}
		require.Zero(r, r.snapshots())
	})
}

// TestTokensOfOtherOptions: a page with other options than the first one is refused with the
// differences, and the list goes on.
func TestTokensOfOtherOptions(t *testing.T) {
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	pods := func() client.ObjectList { return &corev1.PodList{} }
	oneNode := client.MatchingFields{"spec.nodeName": "n1"}
	for name, c := range map[string]struct {
		first, page []client.ListOption
		into        client.ObjectList
		differs     string
	}{
		"Sorted forgotten": {[]client.ListOption{byName}, nil, pods(), `Sorted "none" instead of "given".`},
		"Sorted added":     {nil, []client.ListOption{byName}, pods(), `Sorted "given" instead of "none".`},
		"namespace":        {[]client.ListOption{client.InNamespace("ns1")}, []client.ListOption{client.InNamespace("ns2")}, pods(), `namespace "ns2" instead of "ns1".`},
		"no namespace":     {[]client.ListOption{client.InNamespace("ns1")}, nil, pods(), `namespace "" instead of "ns1".`},
		"labels":           {nil, []client.ListOption{client.MatchingLabels{"app": "a1"}}, pods(), `label selector "app=a1" instead of "".`},
		"no labels match":  {nil, []client.ListOption{client.MatchingLabelsSelector{Selector: labels.Nothing()}}, pods(), `label selector "<nothing>" instead of "".`},
		"fields": {[]client.ListOption{oneNode}, []client.ListOption{client.MatchingFields{"status.phase": "phase1"}}, pods(),
			`field selector "status.phase=phase1" instead of "spec.nodeName=n1".`},
		"value of a field": {[]client.ListOption{oneNode}, []client.ListOption{client.MatchingFields{"spec.nodeName": "n2"}}, pods(),
			`field selector "spec.nodeName=n2" instead of "spec.nodeName=n1".`},
		"two": {[]client.ListOption{oneNode, byName}, []client.ListOption{client.InNamespace("ns1"), oneNode}, pods(),
			`namespace "ns1" instead of "", Sorted "none" instead of "given".`},
		"type": {nil, nil, metadata, `type "*v1.PartialObjectMetadataList" instead of "*v1.PodList".`},
		"kind": {nil, nil, &corev1.NodeList{}, `kind "/v1, Kind=Node" instead of "/v1, Kind=Pod", type "*v1.NodeList" instead of "*v1.PodList".`},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, ours, func(r *rig) {
				token := r.begin(r.reader, c.first...)
				reason := r.isBad(token, c.into, c.page...)
				require.Contains(r, reason, "This request has "+c.differs)
				require.Contains(r, reason, "Repeat the options of the first page")
				require.Equal(r, 1, r.snapshots())
				require.NoError(r, r.reader.List(r.Context(), &corev1.PodList{}, append(c.first, client.Continue(token))...))
				require.Zero(r, r.snapshots())
			})
		})
	}
}

// TestTokensOfTheSameOptions: options are the same in any order of their parts; Limit and copies may
// change from page to page.
func TestTokensOfTheSameOptions(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		for range 50 { // a selector that is made of a map is in random order
			both := client.MatchingFields{"spec.nodeName": "n1", "status.phase": "phase2"}
			var pods corev1.PodList
			require.NoError(r, r.reader.List(r.Context(), &pods, both, client.Limit(1)))
			for _, again := range [][]client.ListOption{
				{client.MatchingFields{"status.phase": "phase2", "spec.nodeName": "n1"}, client.Limit(2)},
				{both, client.MatchingLabelsSelector{Selector: labels.Everything()}, client.Limit(3), client.UnsafeDisableDeepCopy},
				{client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("status.phase==phase2,spec.nodeName=n1")}},
			} {
				require.NotEmpty(r, pods.Continue)
				require.NoError(r, r.reader.List(r.Context(), &pods, append(again, client.Continue(pods.Continue))...))
			}
			require.Empty(r, pods.Continue)
		}
	})
}

// TestTokensUnreadable: a text that is not a token of a Reader, or was altered, is refused.
func TestTokensUnreadable(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		token := r.begin(r.reader)
		list, key, _ := strings.Cut(token, "/")
		name, _, _ := strings.Cut(token, "-")
		for _, text := range []string{
			"none", "/", "-/", "continue-not-supported", "1/" + key, list, name, name + "/" + key, name + "-/" + key, name + "-x/" + key, name + "--1/" + key,
			"x" + token, token[1:], "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIsInN0YXJ0IjoiYSJ9",
		} {
			require.Contains(r, r.isBad(text, &corev1.PodList{}), "was not made by a Reader", text)
		}
		for _, text := range []string{token + "x", list + "/", list + "/none", list + "/ns9/p001"} {
			require.Contains(r, r.isBad(text, &corev1.PodList{}), "was altered", text)
		}
		require.Contains(r, r.expires(r.reader, name+"-18446744073709551615/"+key), "no longer kept")
		require.NoError(r, r.reader.List(r.Context(), &corev1.PodList{}, client.Continue(token)))
		require.Zero(r, r.snapshots())
	})
}

// TestTokensAfterTheCache: pages of a list that was begun before the cache has stopped are those of
// its snapshot, and afterwards the list expires.
func TestTokensAfterTheCache(t *testing.T) {
	inBubble(t, ours, func(r *rig) {
		token := r.begin(r.reader)
		r.stop()
		var pods corev1.PodList
		require.NoError(r, r.reader.List(r.Context(), &pods, client.Limit(150), client.Continue(token)))
		require.Len(r, pods.Items, 150)
		time.Sleep(keptFor)
		synctest.Wait()
		r.expires(r.reader, pods.Continue)
		require.Zero(r, r.snapshots())
	})
}
