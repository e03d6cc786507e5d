// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"maps"
	"net/http"
	gc "runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/internal/tap/taptest"
	"github.com/kinformer/cache/internal/testkit"
)

const equalPods = 1000

// equalPod is one of many that differ by name and version only.
func equalPod(i int, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("p%04d", i), Namespace: "space", ResourceVersion: version,
			Labels: map[string]string{"app": "equal", "remove": "this", "tier": "one of several"},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "registry/image", Command: []string{"some", "command", "with", "texts"},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
			}},
			Tolerations: []corev1.Toleration{{Key: "some key", Operator: corev1.TolerationOpExists}},
			Volumes:     []corev1.Volume{{Name: "plain", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/some/path"}}}},
		},
	}
}

// equalPodsOver is a client of a server that has a list of equal pods, and events in its watch.
func equalPodsOver(t testing.TB, media string, events func() [][]byte) *kubernetes.Clientset {
	list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5000"}}
	for i := range equalPods {
		list.Items = append(list.Items, *equalPod(i, fmt.Sprint(1000+i)))
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

// mutating is a transform that writes to all that a pod has.
func mutating(obj any) (any, error) {
	pod := obj.(*corev1.Pod)
	delete(pod.Labels, "remove")
	pod.Labels["seen"] += "x"
	container := &pod.Spec.Containers[0]
	container.Image += "x"
	container.Command[0], container.Command = "x"+container.Command[0], container.Command[:3]
	pod.Spec.Volumes[0].HostPath.Path += "x"
	return pod, nil
}

// copying is mutating with copies.
func copying(obj any) (any, error) {
	pod := *obj.(*corev1.Pod)
	pod.Labels = maps.Clone(pod.Labels)
	spec := pod.Spec.DeepCopy()
	pod.Spec.Containers, pod.Spec.Volumes = spec.Containers, spec.Volumes
	return mutating(&pod)
}

// sharedRun is what an informer of equal pods comes to.
type sharedRun struct {
	pods   []*corev1.Pod
	status cache.Status
}

// runSharing runs an informer while goroutines read all that it has.
func runSharing(t *testing.T, media string, informerOf func(*kubernetes.Clientset) cache.SharedIndexInformer) (got sharedRun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		informer := informerOf(equalPodsOver(t, media, func() (events [][]byte) {
			for i := range equalPods {
				events = append(events, taptest.Frame(watch.Modified, equalPod(i, fmt.Sprint(6000+i)), media))
			}
			return events
		}))
		read := func(obj any) { _ = fmt.Sprint(obj) }
		for range 2 {
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: read, UpdateFunc: func(_, obj any) { read(obj) }})
			require.NoError(t, err)
		}
		stop := running(t, informer)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		for _, pod := range cache.TypedAll[*corev1.Pod](informer.GetStore()) {
			got.pods = append(got.pods, pod)
		}
		var err error
		got.status, err = cache.StatusOf(informer)
		require.NoError(t, err)
		stop()
	})
	require.Len(t, got.pods, equalPods)
	for _, pod := range got.pods {
		require.Len(t, pod.ResourceVersion, 4)
		require.Equal(t, "6", pod.ResourceVersion[:1], "the watch has come")
	}
	return got
}

// sharedVolumes counts the pods that have the same list of volumes as another one.
func (r sharedRun) sharedVolumes() int {
	lists := map[*corev1.Volume]int{}
	for _, pod := range r.pods {
		lists[&pod.Spec.Volumes[0]]++
	}
	return len(r.pods) - len(lists)
}

// transformedOnce asserts that each pod is as one transform leaves it.
func (r sharedRun) transformedOnce(t *testing.T) {
	t.Helper()
	for _, pod := range r.pods {
		wanted := equalPod(0, pod.ResourceVersion)
		wanted.Name = pod.Name
		_, err := mutating(wanted)
		require.NoError(t, err)
		got := pod.DeepCopy()
		_ = got.Spec.Containers[0].Resources.Limits.Cpu().String()
		require.Equal(t, fmt.Sprint(wanted.Labels, wanted.Spec.Containers[0].Image, wanted.Spec.Containers[0].Command, wanted.Spec.Volumes[0].HostPath.Path),
			fmt.Sprint(got.Labels, got.Spec.Containers[0].Image, got.Spec.Containers[0].Command, got.Spec.Volumes[0].HostPath.Path))
	}
}

const notShared = "a transform function may change what it is given: see Decoding.TransformCopies"

func sharingOption(copies bool) cache.Option {
	return cache.WithDecoding(cache.Decoding{Share: cache.ShareEqual, TransformCopies: copies})
}

func podInformer(set *kubernetes.Clientset, options ...cache.Option) cache.SharedIndexInformer {
	lw := direct.NewListWatch(set.CoreV1().RESTClient(), &corev1.Pod{}, "pods", "", nil)
	return cache.InformerFunc(append(options, cache.WithListMode(cache.ListModeList))...)(lw, &corev1.Pod{}, 0, nil)
}

var sharingMedia = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}

// TestSharesEqualParts: without a transform equal pods share their parts, are what they are, and
// may be read by anybody.
func TestSharesEqualParts(t *testing.T) {
	for _, media := range sharingMedia {
		got := runSharing(t, media, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			return podInformer(set, sharingOption(false))
		})
		assert.True(t, got.status.Decoding.Shares)
		assert.Empty(t, got.status.Decoding.NotShared)
		assert.Greater(t, got.sharedVolumes(), equalPods*9/10)
		assert.Greater(t, got.status.Decoding.Parts.Hits, int64(equalPods))
		for _, pod := range got.pods {
			wanted := equalPod(0, pod.ResourceVersion)
			wanted.Name = pod.Name
			require.Equal(t, wanted.Spec.Volumes, pod.Spec.Volumes)
			require.Equal(t, wanted.Labels, pod.Labels)
		}
	}
}

// TestTransformThatMutates: for a transform that writes to what it is given nothing is shared, and
// the status says why, however the transform comes to the informer.
func TestTransformThatMutates(t *testing.T) {
	ways := map[string]func(*kubernetes.Clientset) cache.SharedIndexInformer{
		"set": func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			informer := podInformer(set, sharingOption(false))
			require.NoError(t, informer.SetTransform(copying))
			require.NoError(t, informer.SetTransform(mutating))
			return informer
		},
		"a factory of ours": func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			f := factory.Wrap(informers.NewSharedInformerFactory(set, 0), factory.WithTransform(mutating),
				factory.WithInformerOptions(sharingOption(false), cache.WithListMode(cache.ListModeList)))
			return f.Core().V1().Pods().Informer()
		},
		"a factory that is wrapped": func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			f := factory.Wrap(informers.NewSharedInformerFactoryWithOptions(set, 0, informers.WithTransform(mutating)),
				factory.WithInformerOptions(sharingOption(false), cache.WithListMode(cache.ListModeList)))
			return f.Core().V1().Pods().Informer()
		},
	}
	for name, informerOf := range ways {
		for _, media := range sharingMedia {
			t.Run(name+", "+media, func(t *testing.T) {
				got := runSharing(t, media, informerOf)
				got.transformedOnce(t)
				d := got.status.Decoding
				assert.True(t, d.On)
				assert.False(t, d.Shares)
				assert.Equal(t, notShared, d.NotShared)
				assert.Zero(t, d.Parts)
				assert.Zero(t, got.sharedVolumes())
			})
		}
	}
}

// TestTransformThatCopies: with one that copies what it changes, and TransformCopies, parts are
// shared that it leaves alone, and what it changes is right.
func TestTransformThatCopies(t *testing.T) {
	for _, media := range sharingMedia {
		got := runSharing(t, media, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
			informer := podInformer(set, sharingOption(true))
			require.NoError(t, informer.SetTransform(copying))
			return informer
		})
		got.transformedOnce(t)
		assert.True(t, got.status.Decoding.Shares)
		assert.Empty(t, got.status.Decoding.NotShared)
		assert.Zero(t, got.sharedVolumes(), "they are copied")
		tolerations := map[*corev1.Toleration]bool{}
		for _, pod := range got.pods {
			tolerations[&pod.Spec.Tolerations[0]] = true
		}
		assert.Less(t, len(tolerations), equalPods/10)
	}
}

// TestTransformInTime: one that is set too late is none, and nil takes it back: parts are shared.
func TestTransformInTime(t *testing.T) {
	got := runSharing(t, runtime.ContentTypeProtobuf, func(set *kubernetes.Clientset) cache.SharedIndexInformer {
		informer := podInformer(set, sharingOption(false))
		require.NoError(t, informer.SetTransform(mutating))
		require.NoError(t, informer.SetTransform(nil))
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			assert.ErrorIs(t, informer.SetTransform(mutating), cache.ErrAlreadyStarted)
		}})
		require.NoError(t, err)
		return informer
	})
	assert.True(t, got.status.Decoding.Shares)
	assert.Greater(t, got.sharedVolumes(), equalPods*9/10)
}

// TestWriterIsFound: who writes to cached objects that share parts is found while events come, and
// told once, by the place and without a value. It is not taken for a fault of the decoder.
func TestWriterIsFound(t *testing.T) {
	reports := testkit.Reports(t)
	synctest.Test(t, func(t *testing.T) {
		media, release := runtime.ContentTypeProtobuf, make(chan struct{})
		informer := podInformer(equalPodsOver(t, media, func() (events [][]byte) {
			<-release
			for i := range 5 * equalPods {
				events = append(events, taptest.Frame(watch.Modified, equalPod(i%equalPods, fmt.Sprint(6000+i)), media))
			}
			return events
		}), sharingOption(false))
		stop := running(t, informer)
		defer stop()
		time.Sleep(time.Second)
		synctest.Wait()
		object, _, err := informer.GetStore().GetByKey("space/p0500")
		require.NoError(t, err)
		pod := object.(*corev1.Pod)
		pod.Labels["app"] = "hunter2"
		pod.Spec.Containers[0].Image = "hunter2"
		pod.Spec.Tolerations[0].Key = "hunter2"
		pod.Spec.Volumes[0].HostPath.Path = "hunter2"
		close(release)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		status, err := cache.StatusOf(informer)
		require.NoError(t, err)
		d := status.Decoding
		assert.True(t, d.On, "%s", d.Why)
		assert.Zero(t, d.Differences, "the decoder is right")
		assert.GreaterOrEqual(t, d.Checked, int64(1))
		require.GreaterOrEqual(t, d.Mutations, int64(1))
		assert.LessOrEqual(t, d.Mutations, int64(4), "each once")
		assert.Regexp(t, `^(ObjectMeta.labels, a map\[string\]string, at \[...\]|PodSpec.\w+, a \[\]v1.\w+, at \[0\])`, d.Mutation)
		assert.Equal(t, []string{"somebody has written to cached objects: " + d.Mutation}, status.Degraded)
		require.Len(t, reports(), 1)
		assert.Contains(t, reports()[0], d.Mutation)
		assert.NotContains(t, reports()[0], "hunter2")
	})
}

// generations is how many states a fickle server has.
const generations = 4

// fickle is a server that refuses every second request. Each list has all pods anew, and all
// watches but the last one end with an error for which the informer has to list again.
type fickle struct {
	*taptest.Wire
	mu       sync.Mutex
	requests int
	lists    int
}

func newFickle(media string) *fickle {
	f := &fickle{Wire: &taptest.Wire{Media: media}}
	f.Answer = f.answer
	return f
}

func (f *fickle) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.requests++
	refused := f.requests%2 == 0
	f.mu.Unlock()
	if refused {
		return nil, syscall.ECONNREFUSED
	}
	return f.Wire.RoundTrip(r)
}

func (f *fickle) answer(r *http.Request) (pieces [][]byte, hangs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Query().Get("watch") != "" {
		expired := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired}
		if f.lists < generations {
			return [][]byte{taptest.Frame(watch.Error, expired, f.Media)}, false
		}
		return nil, true
	}
	f.lists++
	list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(f.lists * 1000)}}
	for i := range 100 {
		list.Items = append(list.Items, *podOfGeneration(i, f.lists))
	}
	return [][]byte{taptest.Encoded(&list, f.Media)}, false
}

// podOfGeneration is like the others of its generation.
func podOfGeneration(i, generation int) *corev1.Pod {
	pod := equalPod(i, fmt.Sprint(generation*1000))
	pod.Labels["app"] = fmt.Sprint("some longer text of generation ", generation)
	pod.Spec.Volumes[0].HostPath.Path = fmt.Sprint("/some/path/", generation)
	return pod
}

func (f *fickle) informer(t *testing.T) cache.SharedIndexInformer {
	config := &rest.Config{Host: "http://127.0.0.1:1", Transport: f, QPS: -1}
	config.ContentType = f.Media
	config.Wrap(direct.Transport)
	set, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return podInformer(set, sharingOption(false), cache.WithBackoff(*testkit.Second()))
}

// remains are parts and texts of objects that were replaced.
type remains struct {
	mu    sync.Mutex
	lists []weak.Pointer[corev1.Volume]
	texts []weak.Pointer[byte]
}

func (r *remains) replaced(old, _ any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod := old.(*corev1.Pod)
	r.lists = append(r.lists, weak.Make(&pod.Spec.Volumes[0]))
	r.texts = append(r.texts, weak.Make(unsafe.StringData(pod.Labels["app"])))
}

// left counts those that are not garbage.
func (r *remains) left() (lists, texts int) {
	gc.GC()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.lists {
		if r.lists[i].Value() != nil {
			lists++
		}
		if r.texts[i].Value() != nil {
			texts++
		}
	}
	return lists, texts
}

// TestTablesEndWithInformers: what is shared outlives the objects that have it, as long as any
// informer runs that shares, and no longer, although the informers are still there: also after
// errors, and lists for which the reflector begins anew.
func TestTablesEndWithInformers(t *testing.T) {
	for _, media := range sharingMedia {
		var informers []cache.SharedIndexInformer
		old := &remains{}
		synctest.Test(t, func(t *testing.T) {
			var stops []func()
			for range 2 {
				informer := newFickle(media).informer(t)
				_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: old.replaced})
				require.NoError(t, err)
				informers, stops = append(informers, informer), append(stops, running(t, informer))
			}
			for i, stop := range stops {
				time.Sleep(time.Hour)
				synctest.Wait()
				lists, texts := old.left()
				assert.NotZero(t, lists, "somebody shares")
				assert.NotZero(t, texts)
				status, err := cache.StatusOf(informers[i])
				require.NoError(t, err)
				assert.GreaterOrEqual(t, status.Lists, int64(generations))
				assert.ErrorIs(t, status.LastError, syscall.ECONNREFUSED)
				stop()
			}
		})
		assert.Len(t, old.lists, 2*100*(generations-1))
		lists, texts := old.left()
		for range 1000 {
			if lists, texts = old.left(); lists == 0 && texts == 0 {
				break
			}
		}
		assert.Zero(t, lists)
		assert.Zero(t, texts)
		for _, informer := range informers {
			assert.Len(t, informer.GetStore().List(), 100)
		}
	}
}
