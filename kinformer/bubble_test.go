// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

const deadlocks = "KINFORMER_DEADLOCK"

// TestDeadlockIsReported: a synctest bubble in which a handler is stuck, or an answer of the server does not
// come, ends with the report of a deadlock after the warning: no timer runs its time ahead.
func TestDeadlockIsReported(t *testing.T) {
	for what, warning := range map[string]string{"handler": "does not return from a call", "list": "A request hangs"} {
		child := exec.Command(os.Args[0], "-test.run=^TestDeadlock$", "-test.timeout=5m")
		child.Env = append(os.Environ(), deadlocks+"="+what)
		printed, err := child.CombinedOutput()
		require.Error(t, err)
		_, after, warned := strings.Cut(string(printed), warning)
		if !warned || !strings.Contains(after, "deadlock: all goroutines in bubble are blocked") {
			t.Errorf("%s: %s", what, printed)
		}
	}
}

// TestDeadlock waits forever.
func TestDeadlock(t *testing.T) {
	what := os.Getenv(deadlocks)
	if what == "" {
		t.Skip("for TestDeadlockIsReported")
	}
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		var source cache.ListerWatcher = testkit.NewPods(testkit.Pod("a", "1"))
		if what == "list" {
			source = &cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				<-never
				return nil, nil
			}}
		}
		informer := kinformer.New(source, &corev1.Pod{}, kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-never }})
		require.NoError(t, err)
		logger := funcr.New(func(prefix, line string) { fmt.Println(prefix, line) }, funcr.Options{})
		go informer.RunWithContext(klog.NewContext(context.Background(), logger))
		time.Sleep(time.Second)
		<-never
	})
}
