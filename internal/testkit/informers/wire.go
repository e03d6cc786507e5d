// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package informers

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/tap/taptest"
)

// WirePod is a pod as a server sends it.
func WirePod(i int, version string) *v1.Pod {
	name := fmt.Sprintf("p%d", i)
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "space", UID: types.UID("uid " + name), ResourceVersion: version, Labels: map[string]string{"app": "right"},
		Annotations:   map[string]string{"kept": "some text that stays", "dropped": "some text that does not"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "some manager"}},
	}}
}

// ClientOver returns a ListerWatcher of pods that speaks to wire, and decodes directly if wrap says so.
func ClientOver(t *testing.T, wire http.RoundTripper, media string, wrap bool) *clientgo.ListWatch {
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	c.ContentType = media
	if wrap {
		c.Wrap(direct.Transport)
	}
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return direct.NewListWatch(set.CoreV1().RESTClient(), &v1.Pod{}, "pods", "", nil)
}

// EqualPods is how many pods EqualPodsOver lists.
const EqualPods = 1000

// EqualPod is one of many that differ by name and version only.
func EqualPod(i int, version string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("p%04d", i), Namespace: "space", ResourceVersion: version,
			Labels: map[string]string{"app": "equal", "remove": "this", "tier": "one of several"},
		},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{
				Name: "main", Image: "registry/image", Command: []string{"some", "command", "with", "texts"},
				Resources: v1.ResourceRequirements{Limits: v1.ResourceList{"cpu": resource.MustParse("100m")}},
			}},
			Tolerations: []v1.Toleration{{Key: "some key", Operator: v1.TolerationOpExists}},
			Volumes:     []v1.Volume{{Name: "plain", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/some/path"}}}},
		},
	}
}

// EqualPodsOver is a client of a server that has a list of equal pods, and events in its watch.
func EqualPodsOver(t testing.TB, media string, events func() [][]byte) *kubernetes.Clientset {
	list := v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5000"}}
	for i := range EqualPods {
		list.Items = append(list.Items, *EqualPod(i, fmt.Sprint(1000+i)))
	}
	body := taptest.Encoded(&list, media)
	wire := &taptest.Wire{Media: media, Answer: func(r *http.Request) ([][]byte, bool) {
		if r.URL.Query().Get("watch") != "" {
			return events(), true
		}
		return [][]byte{body}, false
	}}
	c := &rest.Config{Host: "http://127.0.0.1:1", Transport: wire, QPS: -1}
	c.ContentType = media
	c.Wrap(direct.Transport)
	set, err := kubernetes.NewForConfig(c)
	require.NoError(t, err)
	return set
}
