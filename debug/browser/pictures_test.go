// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
)

var pictures = flag.String("pictures", "", "write the pictures of the documentation to this `folder`")

const mostPicture = 150 << 10 // bytes

// TestPictures takes the pictures of the documentation for make screenshots. Without the flag it
// writes them to a temporary directory, after fewer samples.
func TestPictures(t *testing.T) {
	testkit.Reports(t)
	folder, points := *pictures, 12
	if folder == "" {
		folder, points = t.TempDir(), 2
	}
	tt := open(t)
	tt.size(1280, 350)
	address := serve(t, debug.Options{})
	pods := aProgram(t)
	tt.untilTrue("all states, and a rate", func() bool {
		tt.visit(address)
		shown := tt.texts(".state")
		slices.Sort(shown)
		return slices.Equal(shown, []string{"degraded", "failing", "ok", "ok", "stuck"}) && tt.texts("td:nth-child(5)")[0] != "0.0"
	})
	tt.picture(filepath.Join(folder, "informers.png"))
	tt.size(1280, 640)
	tt.visit(pageOf(t, address, pods))
	tt.until(fmt.Sprintf(`document.querySelector('polyline')?.points.length >= %d`, points))
	tt.picture(filepath.Join(folder, "informer.png"))
	tt.size(360, 640, chromedp.EmulateMobile)
	tt.picture(filepath.Join(folder, "narrow.png"))
}

// picture writes the content of the screen to a file.
func (tt *tab) picture(file string) {
	tt.t.Helper()
	picture, err := chromedp.Run(tt.ctx, chromedp.CaptureScreenshot())
	require.NoError(tt.t, err)
	shown, err := png.Decode(bytes.NewReader(picture))
	require.NoError(tt.t, err)
	assert.Equal(tt.t, value[int](tt, `innerWidth`), shown.Bounds().Dx())
	assert.Less(tt.t, len(picture), mostPicture, file)
	require.NoError(tt.t, os.WriteFile(file, picture, 0o644))
}

// aProgram runs informers like those of a program, some with problems, until the test ends. It
// returns one with many events.
func aProgram(t *testing.T) (pods cache.SharedIndexInformer) {
	t.Helper()
	release := make(chan struct{})
	server := source()
	for i := range 300 {
		server.Create(pod(fmt.Sprint("web-", i)))
	}
	pods = synced(t, follow(t, server, "pods.v1", both(
		both(handling(t, "scheduler", func(any) {}), handling(t, "endpoints-controller", pausing())),
		indexing(t, "node", func(obj any) ([]string, error) { return []string{obj.(metav1.Object).GetName()[:5]}, nil }),
	), kinformer.Options{}))
	synced(t, follow(t, source("a", "b", "c"), "nodes.v1", handling(t, "node-lifecycle", func(any) {}), kinformer.Options{}))
	follow(t, source("a", "b"), "services.v1", handling(t, "dns-writer", func(any) { <-release }), kinformer.Options{})
	synced(t, follow(t, source("a"), "ingresses.v1.networking.k8s.io", indexing(t, "by-host", func(any) ([]string, error) {
		return nil, errors.New("no host")
	}), kinformer.Options{}))
	down := source("a")
	synced(t, follow(t, down, "widgets.v1.example.com", nil, kinformer.Options{}))
	down.Outage(cachetest.ConnectionRefused())
	ctx, stop := context.WithCancel(context.Background())
	var writer sync.WaitGroup
	writer.Go(func() { keepWriting(ctx, server) })
	t.Cleanup(func() { stop(); writer.Wait(); close(release) })
	return pods
}

// pausing returns a handler that is slow now and then.
func pausing() func(any) {
	calls := 0
	return func(any) {
		if calls++; calls > 300 && calls%25 == 0 {
			time.Sleep(700 * time.Millisecond)
		}
	}
}

// keepWriting changes pods at a varying rate, and replaces some.
func keepWriting(ctx context.Context, server *cachetest.Source) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprint("web-", n%300)
		server.Patch("ns", name, func(obj runtime.Object) {
			obj.(metav1.Object).SetAnnotations(map[string]string{"n": fmt.Sprint(n)})
		})
		if n%10 == 0 {
			server.Delete("ns", name)
			server.Create(pod(name))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(4+n/100%5*6) * time.Millisecond):
		}
	}
}
