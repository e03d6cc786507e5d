// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

// TestMain fails the run if a goroutine is left. Reported errors are only logged: apimachinery's second
// default handler, which client-go's informers call, sleeps until a millisecond after the last error.
// In a synctest bubble that is years.
func TestMain(m *testing.M) {
	cache.SetInformerMetricsProvider(&askedFor)
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, msg string, keysAndValues ...any) {
			klog.FromContext(ctx).Error(err, msg, keysAndValues...)
		},
	}
	testkit.RunTests(m)
}

// logged returns the lines that contain text and are logged while do runs.
func logged(t *testing.T, text string, do func()) []string {
	lines := testkit.CaptureLog(t)
	do()
	return testkit.About(text, lines.Take())
}

// isOurs reports whether the informer's store is one of kinformer's. Generated accessors hide the
// informer itself in a wrapper.
func isOurs(informer cache.SharedIndexInformer) bool {
	return reflect.TypeOf(informer.GetIndexer()).Elem().PkgPath() == reflect.TypeFor[cache.RealFIFO]().PkgPath()
}

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
}

func boundedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// run starts the factory and stops it when the test ends.
func run(t *testing.T, f informers.SharedInformerFactory) {
	t.Helper()
	ctx, cancel := context.WithCancel(boundedContext(t))
	f.StartWithContext(ctx)
	t.Cleanup(func() { cancel(); f.Shutdown() })
	synced := f.WaitForCacheSyncWithContext(ctx)
	require.NoError(t, synced.AsError())
}

// TestWithShardSelector: informers of each factory have the objects that the selector matches, also informers
// of several namespaces and client-go's, and with a selector that cannot be understood they do not run.
func TestWithShardSelector(t *testing.T) {
	for _, value := range []string{"", "off:pods"} {
		t.Run("KINFORMER="+value, func(t *testing.T) {
			t.Setenv("KINFORMER", value)
			synctest.Test(t, withShardSelector)
		})
	}
}

func withShardSelector(t *testing.T) {
	var pods []runtime.Object
	for i := range 40 {
		p := pod(fmt.Sprint("n", i%2), fmt.Sprint(i))
		p.UID = types.UID(fmt.Sprint(i, "-0000-0000-0000"))
		pods = append(pods, p)
	}
	selector := sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: "0x0000000000000000", End: "0x8000000000000000"})
	var want []string
	for _, p := range pods {
		if matches, err := selector.Matches(p); err == nil && matches {
			want = append(want, p.(*corev1.Pod).Namespace+"/"+p.(*corev1.Pod).Name)
		}
	}
	assert.Greater(t, len(want), 5)
	both := &factory.Namespaces{}
	both.Add("n0")
	both.Add("n1")
	option := factory.WithShardSelector(selector)
	client, generic := fake.NewClientset(pods...), dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pods...)
	of := podsResource
	ctx := boundedContext(t)
	for name, start := range map[string]func(factory.Option) (cache.SharedIndexInformer, func(context.Context), func()){
		"typed": func(o factory.Option) (cache.SharedIndexInformer, func(context.Context), func()) {
			f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), o)
			return f.Core().V1().Pods().Informer(), f.StartWithContext, f.Shutdown
		},
		"namespaces": func(o factory.Option) (cache.SharedIndexInformer, func(context.Context), func()) {
			f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), o, factory.WithNamespaces(both))
			return f.Core().V1().Pods().Informer(), f.StartWithContext, f.Shutdown
		},
		"dynamic": func(o factory.Option) (cache.SharedIndexInformer, func(context.Context), func()) {
			f := factory.Dynamic(generic, 0, o)
			return f.ForResource(of).Informer(), f.StartWithContext, f.Shutdown
		},
	} {
		running, stop := context.WithCancel(ctx)
		informer, begin, shutdown := start(option)
		assert.Equal(t, name == "namespaces" || os.Getenv("KINFORMER") == "", isOurs(informer), name)
		begin(running)
		require.NoError(t, kinformer.WaitForSync(ctx, informer), name)
		assert.ElementsMatch(t, want, informer.GetStore().ListKeys(), name)
		bad, begin, shutdownBad := start(factory.WithShardSelector(sharding.NewSelector(sharding.ShardRangeRequirement{Key: "x"})))
		begin(running)
		assert.ErrorContains(t, kinformer.WaitForSync(ctx, bad), `WithShardSelector: shard selector`, name)
		stop()
		shutdown()
		shutdownBad()
	}
}

func TestTheTableIsUpToDate(t *testing.T) {
	testkit.AtNight(t)
	made := t.TempDir()
	files := []string{"typed_table.go", "typed_groups.go"}
	cmd := exec.CommandContext(boundedContext(t), "go", "run", "./internal/tablegen",
		"-table", filepath.Join(made, files[0]), "-groups", filepath.Join(made, files[1]))
	printed, err := cmd.CombinedOutput()
	require.NoError(t, err, string(printed))
	for _, file := range files {
		want, err := os.ReadFile(filepath.Join(made, file))
		require.NoError(t, err)
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "run go generate ./factory")
	}
}

// resourcesOfClientGo returns the resources of client-go's generic informers, read from their source.
func resourcesOfClientGo(t *testing.T) (resources []schema.GroupVersionResource) {
	dir, err := exec.CommandContext(boundedContext(t), "go", "list", "-f", "{{.Dir}}", "k8s.io/client-go/informers").Output()
	require.NoError(t, err)
	src, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "generic.go"))
	require.NoError(t, err)
	var group, version string
	for _, m := range regexp.MustCompile(`// Group=(\S+), Version=(\S+)|WithResource\("(\w+)"\)`).FindAllStringSubmatch(string(src), -1) {
		if m[1] != "" {
			group, version = strings.TrimSuffix(m[1], "core"), m[2]
			continue
		}
		resources = append(resources, schema.GroupVersionResource{Group: group, Version: version, Resource: m[3]})
	}
	require.Greater(t, len(resources), 100)
	return resources
}

// TestTheWrappedFactoryKeepsItsOptions: a wrapped factory has its name, and its transform unless the
// options have one.
func TestTheWrappedFactoryKeepsItsOptions(t *testing.T) {
	mark := func(value string) cache.TransformFunc {
		return func(obj any) (any, error) {
			obj.(*corev1.Pod).Annotations = map[string]string{"seen": value}
			return obj, nil
		}
	}
	for want, options := range map[string][]factory.Option{"factory": nil, "options": {factory.WithTransform(mark("options"))}} {
		name, err := cache.NewInformerName("factory-test-" + want)
		require.NoError(t, err)
		inner := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(pod("ns", "a")), time.Hour,
			informers.WithTransform(mark("factory")), informers.WithInformerName(name))
		f := factory.Wrap(inner, options...)
		assert.Same(t, name, f.InformerName())
		pods := f.Core().V1().Pods()
		pods.Informer()
		run(t, f)
		got, err := pods.Lister().Pods("ns").Get("a")
		require.NoError(t, err)
		assert.Equal(t, want, got.Annotations["seen"])
	}
}

// TestResyncPeriodsOfTheWrappedFactory: informers have the resync period that the wrapped factory has for
// their type.
func TestResyncPeriodsOfTheWrappedFactory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("ns", "a"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		f := factory.Wrap(informers.NewSharedInformerFactoryWithOptions(client, time.Hour,
			informers.WithCustomResyncConfig(map[metav1.Object]time.Duration{&corev1.Pod{}: time.Minute})))
		var resyncs [2]atomic.Int64
		for i, informer := range []cache.SharedIndexInformer{f.Core().V1().Pods().Informer(), f.Core().V1().Nodes().Informer()} {
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { resyncs[i].Add(1) }})
			require.NoError(t, err)
		}
		f.StartWithContext(bubbleContext(t, f))
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		assert.Equal(t, [2]int64{60, 1}, [2]int64{resyncs[0].Load(), resyncs[1].Load()})
	})
}

func TestAConstructorOfTheUserIsUsed(t *testing.T) {
	client := fake.NewClientset(pod("ns", "a"), pod("other", "a"))
	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0))
	informer := f.InformerFor(&corev1.Pod{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return coreinformers.NewPodInformer(c, "ns", resync, cache.Indexers{})
	})
	assert.Same(t, informer.GetIndexer(), f.Core().V1().Pods().Informer().GetIndexer())
	run(t, f)
	assert.Equal(t, []string{"ns/a"}, informer.GetStore().ListKeys())
}

var (
	podsResource  = corev1.SchemeGroupVersion.WithResource("pods")
	nodesResource = corev1.SchemeGroupVersion.WithResource("nodes")
)
