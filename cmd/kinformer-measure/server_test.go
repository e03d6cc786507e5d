// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) {
	atLeast = time.Millisecond
	testkit.RunTests(m)
}

// clusterOf is a server with a few resources. The names and contents of their objects must not be
// printed.
type clusterOf struct {
	*httptest.Server
	nodes  string                // a list, as JSON
	onList func(resource string) // may be nil

	mu    sync.Mutex
	asked []string // resources and limits of the requested lists
}

func newCluster(t *testing.T) *clusterOf {
	c := &clusterOf{nodes: nodes()}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *clusterOf) kubeconfig(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "config")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"here","clusters":[{"name":"c","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"here","context":{"cluster":"c"}}]}`, c.URL)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func (c *clusterOf) lists() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *clusterOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Warning", `299 - "you are `+testkit.Secret+`"`)
	switch r.URL.Path {
	case "/api":
		fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
	case "/apis":
		fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[`+group("example.com")+`,`+group("silent.example.com")+`]}`)
	case "/api/v1":
		writeResources(w, "v1", "pods Pod", "configmaps ConfigMap", "nodes Node", "secrets Secret", "pods/status Pod")
	case "/apis/example.com/v1":
		writeResources(w, "example.com/v1", "widgets Widget", "lies Lie")
	case "/apis/silent.example.com/v1":
		forbid(w)
	default:
		c.serveList(w, r)
	}
}

func group(name string) string {
	return fmt.Sprintf(`{"name":%q,"versions":[{"groupVersion":"%s/v1","version":"v1"}],"preferredVersion":{"groupVersion":"%s/v1","version":"v1"}}`, name, name, name)
}

func writeResources(w http.ResponseWriter, version string, namesAndKinds ...string) {
	var all []string
	for _, both := range namesAndKinds {
		name, kind, _ := strings.Cut(both, " ")
		all = append(all, fmt.Sprintf(`{"name":%q,"kind":%q,"namespaced":true,"verbs":["get","list","watch"]}`, name, kind))
	}
	all = append(all, `{"name":"reviews","kind":"Review","namespaced":false,"verbs":["create"]}`)
	fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[%s]}`, version, strings.Join(all, ","))
}

func (c *clusterOf) serveList(w http.ResponseWriter, r *http.Request) {
	name := filepath.Base(r.URL.Path)
	c.mu.Lock()
	c.asked = append(c.asked, name+" "+r.URL.Query().Get("limit"))
	c.mu.Unlock()
	if c.onList != nil {
		c.onList(name)
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if limit == 0 {
		limit = 1000
	}
	if r.URL.Query().Get("watch") != "" {
		serveWatch(w, r, name)
		return
	}
	switch name {
	case "pods", "secrets":
		writePods(w, r, limit)
	case "nodes":
		fmt.Fprint(w, c.nodes)
	case "widgets":
		writeWidgets(w, limit)
	case "lies":
		fmt.Fprint(w, `{"kind":"LieList","apiVersion":"example.com/v1","items":[{"`+testkit.Secret)
	default:
		forbid(w)
	}
}

// serveWatch sends an update of a pod each 20 ms, and nothing of others. It refuses watch-lists.
func serveWatch(w http.ResponseWriter, r *http.Request, name string) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		http.Error(w, "no watch-lists", http.StatusBadRequest)
		return
	}
	for version := 10; r.Context().Err() == nil; version++ {
		if name == "pods" {
			fmt.Fprintf(w, `{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s0","namespace":"n","uid":"u","resourceVersion":"%d"}}}`+"\n",
				testkit.Secret, version)
		}
		w.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
	}
}

func forbid(w http.ResponseWriter) {
	status := &metav1.Status{Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403, Message: "not for " + testkit.Secret}
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(status)
}

func writePods(w http.ResponseWriter, r *http.Request, limit int) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for i := range min(limit, 200) {
		list.Items = append(list.Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(testkit.Secret, i), Namespace: "n", UID: "u", ResourceVersion: "7"},
			Spec:       corev1.PodSpec{NodeName: testkit.Secret, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		})
	}
	if left := int64(200 - limit); left > 0 {
		list.Continue, list.RemainingItemCount = testkit.Secret, &left
	}
	media, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	w.Header().Set("Content-Type", media)
	_ = scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion).Encode(list, w)
}

// nodes returns a list with these encoded nodes.
func nodes(items ...string) string {
	return `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"9"},"items":[` + strings.Join(items, ",") + `]}` + "\n"
}

func writeWidgets(w http.ResponseWriter, limit int) {
	var items []string
	for i := range min(30, limit) {
		items = append(items, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget",`+
			`"metadata":{"name":"%s%d","namespace":"n","uid":"u"},"size":3}`, testkit.Secret, i))
	}
	const list = `{"apiVersion":"example.com/v1","items":[%s],"kind":"WidgetList","metadata":{"resourceVersion":"9"}}`
	fmt.Fprintf(w, list+"\n", strings.Join(items, ","))
}
