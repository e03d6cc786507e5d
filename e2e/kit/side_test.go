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
	"github.com/kinformer/cache/e2e/apiserver"
)

// namespace has all objects of the checks and nothing else.
const namespace = "kit"

// side is a server of pods: the real one, or a Source. Versions are written by the step of the
// history that made them, so that what the two say can be compared.
type side struct {
	list   func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch  func(context.Context, metav1.ListOptions) (watch.Interface, error)
	create func(*corev1.Pod) (*corev1.Pod, error)
	update func(*corev1.Pod) (*corev1.Pod, error)
	remove func(name string) error

	// steps are the versions at which the steps of the history left the server, that of the
	// beginning first.
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

// impatient keeps the client from trying ten times what the server refuses because it is ahead.
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

// newSource makes a source of pods, which can be selected by what the real server knows of them.
func newSource(options cachetest.Options) *cachetest.Source {
	options.NewList = func() runtime.Object { return &corev1.PodList{} }
	options.HonorTimeout = true
	options.Buffer = 100 // the network has one, too
	options.Fields = map[string]func(runtime.Object) string{
		"spec.nodeName": func(obj runtime.Object) string { return obj.(*corev1.Pod).Spec.NodeName },
		"status.phase":  func(obj runtime.Object) string { return string(obj.(*corev1.Pod).Status.Phase) },
	}
	return cachetest.New(options)
}

// written returns what a writer of a Source panics with as its error.
func written(write func() runtime.Object) (p *corev1.Pod, err error) {
	defer func() {
		if refused := recover(); refused != nil {
			err = refused.(error)
		}
	}()
	return write().(*corev1.Pod), nil
}

// do carries out the steps, noting the version after each of them.
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

// version returns the version of a step as this side says it; "v" and the number of a step is one,
// "future" is one that is far ahead, and anything else is itself.
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

// symbol is the other way round: the first step that had reached the version.
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

// object writes what an object is.
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

// refusal writes an error as its status.
func refusal(err error) string {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) {
		return "no status: " + err.Error()
	}
	s := refused.Status()
	return status(&s)
}

// listed lists, and writes the answer in one line and its continue token.
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

// stream is a watch that was opened, or the reason why not.
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

// read writes the events until that of the last step that is about the object called last, or the
// end. Bookmarks that only tell the time are left out.
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

// heard writes what a watch has delivered by now and nobody has read, which is to be nothing: it is
// asked when the others have delivered everything.
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

// isLast reports whether an event about m is that of the last step about the object of that name,
// or without a name the end of the initial events.
func (s *side) isLast(m metav1.Object, name string) bool {
	if name == "" {
		return m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	}
	return m.GetName() == name && s.symbol(m.GetResourceVersion()) == "v"+strconv.Itoa(lastStep(name))
}
