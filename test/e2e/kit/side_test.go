// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/test/e2e/apiserver"
)

// namespace contains exactly the objects of the checks.
const namespace = "kit"

// side is a server of pods: the real one or a Source. To make the two comparable, versions are written
// as the step of the history that created them.
type side struct {
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	create func(*corev1.Pod) (*corev1.Pod, error)
	update func(*corev1.Pod) (*corev1.Pod, error)
	remove func(name string) error

	// steps are the resource versions after each step of the history, beginning with the version before
	// the first step.
	steps []uint64
}

func realSide(ctx context.Context, srv *apiserver.Server) (*side, error) {
	config := srv.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return impatient{next} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	pods := client.CoreV1().Pods(namespace)
	return &side{
		list:   func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		watch:  pods.Watch,
		create: func(p *corev1.Pod) (*corev1.Pod, error) { return pods.Create(ctx, p, metav1.CreateOptions{}) },
		update: func(p *corev1.Pod) (*corev1.Pod, error) { return pods.Update(ctx, p, metav1.UpdateOptions{}) },
		remove: func(name string) error { return pods.Delete(ctx, name, metav1.DeleteOptions{}) },
	}, nil
}

// impatient makes the client return a refused request at a future version instead of retrying ten times.
type impatient struct{ http.RoundTripper }

func (i impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := i.RoundTripper.RoundTrip(request)
	if err == nil && answer.StatusCode == http.StatusGatewayTimeout {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

func kitSide(src *cachetest.Source) *side {
	return &side{
		list:  src.ListWithContext,
		watch: src.WatchWithContext,
		create: func(p *corev1.Pod) (*corev1.Pod, error) {
			return written(func() runtime.Object { return src.Create(p) })
		},
		update: func(p *corev1.Pod) (*corev1.Pod, error) {
			return written(func() runtime.Object { return src.Update(p) })
		},
		remove: func(name string) error {
			_, err := written(func() runtime.Object { return src.Delete(namespace, name) })
			return err
		},
	}
}

// newSource returns a source of pods with the field selectors of the real server.
func newSource(cached bool) *cachetest.Source {
	return cachetest.New(cachetest.Options{
		NoWatchCache: !cached, HonorTimeout: true, NewList: func() runtime.Object { return &corev1.PodList{} },
		Buffer: 100, // as the network does
		Fields: map[string]func(runtime.Object) string{
			"spec.nodeName": func(obj runtime.Object) string { return obj.(*corev1.Pod).Spec.NodeName },
			"status.phase":  func(obj runtime.Object) string { return string(obj.(*corev1.Pod).Status.Phase) },
		},
	})
}

// written calls write and returns its panic as an error.
func written(write func() runtime.Object) (p *corev1.Pod, err error) {
	defer func() {
		if refused := recover(); refused != nil {
			err = refused.(error)
		}
	}()
	return write().(*corev1.Pod), nil
}

// do applies the steps and records the version after each of them.
func (s *side) do(t *testing.T, steps ...func(*side) error) {
	t.Helper()
	for i, step := range steps {
		require.NoError(t, step(s), "step %d", i)
		s.note(t)
	}
}

func (s *side) note(t *testing.T) {
	t.Helper()
	now, err := s.list(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	rv, err := strconv.ParseUint(now.(*corev1.PodList).ResourceVersion, 10, 64)
	require.NoError(t, err)
	s.steps = append(s.steps, rv)
}

// version returns the resource version for symbol on this side: "v" and a number stands for a step of
// the history, "future" for a far later version, and any other symbol for itself.
func (s *side) version(symbol string) string {
	if symbol == "future" {
		return strconv.FormatUint(s.steps[len(s.steps)-1]+100000, 10)
	}
	n, err := strconv.Atoi(strings.TrimPrefix(symbol, "v"))
	if err != nil || symbol[0] != 'v' {
		return symbol
	}
	return strconv.FormatUint(s.steps[n], 10)
}

// symbol is the inverse of version: it returns the first step that had reached rv.
func (s *side) symbol(rv string) string {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil || n == 0 {
		return rv
	}
	for i, step := range s.steps {
		if n <= step {
			return "v" + strconv.Itoa(i)
		}
	}
	return "later"
}

// object formats obj for comparison.
func (s *side) object(obj runtime.Object) string {
	switch o := obj.(type) {
	case nil:
		return "nil"
	case *metav1.Status:
		return status(o)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%T", obj)
	}
	text := m.GetName() + "@" + s.symbol(m.GetResourceVersion())
	for _, label := range []string{"app", "round"} {
		if value, set := m.GetLabels()[label]; set {
			text += " " + label + "=" + value
		}
	}
	created := m.GetCreationTimestamp()
	if m.GetName() != "" && (m.GetUID() == "" || created.IsZero()) {
		text += " without UID or creationTimestamp"
	}
	if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		text += " end of initial events"
	}
	return text
}

func status(s *metav1.Status) string {
	text := fmt.Sprintf("%d %s", s.Code, s.Reason)
	if s.Details == nil {
		return text
	}
	for _, cause := range s.Details.Causes {
		text += fmt.Sprintf(" [%s %s]", cause.Type, cause.Field)
	}
	if s.Details.RetryAfterSeconds != 0 {
		text += " retry"
	}
	return text
}

// refusal formats the status of an error.
func refusal(err error) string {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		return "no status: " + err.Error()
	}
	s := refused.Status()
	return status(&s)
}

// listed returns the formatted answer to a list, on one line, and the continue token.
func (s *side) listed(ctx context.Context, options metav1.ListOptions) (line, token string) {
	options.ResourceVersion = s.version(options.ResourceVersion)
	answer, err := s.list(ctx, options)
	if err != nil {
		var refused apierrors.APIStatus
		if errors.As(err, &refused) {
			token = refused.Status().Continue
		}
		return refusal(err), token
	}
	list := answer.(*corev1.PodList)
	line = "@" + s.symbol(list.ResourceVersion)
	for i := range list.Items {
		line += ", " + s.object(&list.Items[i])
	}
	if list.Continue != "" {
		line += ", more"
	}
	if n := list.RemainingItemCount; n != nil {
		line += fmt.Sprintf(", %d remain", *n)
	}
	return line, list.Continue
}

// stream is an open watch, or the reason why it was refused.
type stream struct {
	watch.Interface
	refused string
}

func (s *side) opened(ctx context.Context, options metav1.ListOptions) *stream {
	options.ResourceVersion = s.version(options.ResourceVersion)
	w, err := s.watch(ctx, options)
	if err != nil {
		return &stream{refused: refusal(err)}
	}
	return &stream{Interface: w}
}

// read formats the events of w through the last step about the object named last, or through the end of
// the stream. Bookmarks other than the end of the initial events are skipped.
func (s *side) read(ctx context.Context, w *stream, last string) []string {
	if w.Interface == nil {
		return []string{"refused: " + w.refused}
	}
	defer w.Stop()
	var lines []string
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return append(lines, "end")
			}
			line := string(event.Type) + " " + s.object(event.Object)
			if event.Type != watch.Bookmark || strings.HasSuffix(line, "events") {
				lines = append(lines, line)
			}
			if m, ok := event.Object.(metav1.Object); ok && s.isLast(m, last) {
				return lines
			}
		case <-ctx.Done():
			return append(lines, "silence")
		}
	}
}

// heard formats the events buffered in w. It is called for watches that must not deliver any, once all
// others have delivered their events.
func (s *side) heard(w *stream) (lines []string) {
	if w.Interface == nil {
		return []string{"refused: " + w.refused}
	}
	defer w.Stop()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				return append(lines, "end")
			}
			if event.Type != watch.Bookmark {
				lines = append(lines, string(event.Type)+" "+s.object(event.Object))
			}
		default:
			return lines
		}
	}
}

// isLast reports whether m is the state after the last step about the named object or, without a name,
// the end of the initial events.
func (s *side) isLast(m metav1.Object, name string) bool {
	if name == "" {
		return m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	}
	return m.GetName() == name && s.symbol(m.GetResourceVersion()) == "v"+strconv.Itoa(lastStep(name))
}
