// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/workload"
	"github.com/kinformer/cache/direct"
)

const (
	auditedPods    = 20_000
	auditedVersion = "1000000"
	auditedPage    = 500
)

// auditServer answers lists of pods, in pages of 500 and in protobuf, from memory.
type auditServer struct {
	pods, metadata [][]byte
	atLast         func() // called before the last page is sent; nil: nothing is
}

func newAuditServer(tb testing.TB, pods []corev1.Pod) *auditServer {
	known := apiruntime.NewScheme()
	require.NoError(tb, scheme.AddToScheme(known))
	require.NoError(tb, metav1.AddMetaToScheme(known))
	encoder := protobuf.NewSerializer(known, known)
	encode := func(list apiruntime.Object, kind schema.GroupVersionKind) []byte {
		var body bytes.Buffer
		list.GetObjectKind().SetGroupVersionKind(kind)
		require.NoError(tb, encoder.Encode(list, &body))
		return body.Bytes()
	}
	s := &auditServer{}
	for from := 0; from < len(pods); from += auditedPage {
		of := metav1.ListMeta{ResourceVersion: auditedVersion}
		if from+auditedPage < len(pods) {
			of.Continue = strconv.Itoa(from/auditedPage + 1)
		}
		full, slim := &corev1.PodList{ListMeta: of}, &metav1.PartialObjectMetadataList{ListMeta: of}
		for _, pod := range pods[from:min(from+auditedPage, len(pods))] {
			full.Items = append(full.Items, pod)
			slim.Items = append(slim.Items, metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta})
		}
		s.pods = append(s.pods, encode(full, corev1.SchemeGroupVersion.WithKind("PodList")))
		s.metadata = append(s.metadata, encode(slim, metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")))
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *auditServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pages := s.pods
	if bytes.Contains([]byte(r.Header.Get("Accept")), []byte("PartialObjectMetadataList")) {
		pages = s.metadata
	}
	page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	if page == len(pages)-1 && s.atLast != nil {
		s.atLast()
	}
	w.Header().Set("Content-Type", apiruntime.ContentTypeProtobuf)
	_, _ = w.Write(pages[page])
}

// auditClients are how an audit can list.
type auditClients struct {
	pods, direct             *cache.ListWatch
	metadata, directMetadata cache.ListerWithContext
	bare                     func() error // reads all pods, and decodes nothing
	bareMetadata             func() error
}

func newAuditClients(tb testing.TB, s *auditServer) auditClients {
	serving := httptest.NewServer(s)
	tb.Cleanup(serving.Close)
	config := &rest.Config{Host: serving.URL, QPS: -1}
	config.ContentType, config.AcceptContentTypes = apiruntime.ContentTypeProtobuf, apiruntime.ContentTypeProtobuf
	tapped := rest.CopyConfig(config)
	tapped.Wrap(direct.Transport)
	podsOf := func(config *rest.Config) *cache.ListWatch {
		config = rest.CopyConfig(config)
		config.GroupVersion, config.APIPath = &corev1.SchemeGroupVersion, "/api"
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		client, err := rest.RESTClientFor(config)
		require.NoError(tb, err)
		lw := cache.NewListWatchFromClient(client, "pods", "", fields.Everything())
		lw.WatchFuncWithContext = func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }
		return lw
	}
	metadataOf := func(config *rest.Config) cache.ListerWithContext {
		client, err := metadata.NewForConfig(metadata.ConfigFor(config))
		require.NoError(tb, err)
		return &cache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (apiruntime.Object, error) {
			return client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).List(ctx, o)
		}}
	}
	bare := func(accept string) func() error {
		return func() error {
			for page := range len(s.pods) {
				request, _ := http.NewRequest(http.MethodGet, fmt.Sprintf("%s/api/v1/pods?continue=%d", serving.URL, page), nil)
				request.Header.Set("Accept", accept)
				answer, err := http.DefaultClient.Do(request)
				if err != nil {
					return err
				}
				var body bytes.Buffer
				_, _ = body.ReadFrom(answer.Body)
				_ = answer.Body.Close()
			}
			return nil
		}
	}
	return auditClients{
		podsOf(config), podsOf(tapped), metadataOf(config), metadataOf(tapped), bare("pods"), bare("PartialObjectMetadataList"),
	}
}

// auditedInformer runs an informer of the pods until the benchmark ends.
func auditedInformer(tb testing.TB, lw cache.ListerWatcher, transform cache.TransformFunc) cache.SharedIndexInformer {
	informer := cache.InformerFunc(cache.WithListMode(cache.ListModeList))(lw, &corev1.Pod{}, 0, nil)
	require.NoError(tb, informer.SetTransform(transform))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	tb.Cleanup(func() { cancel(); <-ended })
	require.NoError(tb, cache.WaitForSync(ctx, informer))
	return informer
}

// forgetIdentity is a transform that leaves neither version nor UID, so that both are kept beside.
func forgetIdentity(obj any) (any, error) {
	pod := obj.(*corev1.Pod)
	pod.ResourceVersion, pod.UID = "", ""
	return pod, nil
}

// BenchmarkAudit audits pods, whose lists come over HTTP from this process: what the transfer alone
// takes of both ends is the row of that name. CPU time is that of the process, garbage collection
// of all that the informer and the server hold included. MiB-held is by how much the live heap is
// larger when the last page is asked for.
func BenchmarkAudit(b *testing.B) {
	pods := make([]corev1.Pod, auditedPods)
	for i := range pods {
		pods[i] = *workload.Pod(workload.Config{N: auditedPods, Seed: 1}, i)
		pods[i].ResourceVersion = strconv.Itoa(1000 + i)
	}
	server := newAuditServer(b, pods)
	clear(pods)
	clients := newAuditClients(b, server)
	once := func(lw cache.ListerWatcher, transform cache.TransformFunc, o audit.Options) func(b *testing.B) func() error {
		return func(b *testing.B) func() error {
			informer := auditedInformer(b, lw, transform)
			return func() error {
				report, err := audit.Once(context.Background(), informer, o)
				if err == nil && (len(report.Found) > 0 || report.Digest.Objects != auditedPods) {
					err = fmt.Errorf("a false alarm: %v", report)
				}
				return err
			}
		}
	}
	for _, row := range []struct {
		name string
		make func(b *testing.B) func() error
	}{
		{"transfer of metadata", func(*testing.B) func() error { return clients.bareMetadata }},
		{"metadata", once(clients.direct, nil, audit.Options{Source: clients.metadata})},
		{"metadata, direct", once(clients.direct, nil, audit.Options{Source: clients.directMetadata})},
		{"metadata, direct, identities kept", once(clients.direct, forgetIdentity, audit.Options{Source: clients.directMetadata})},
		{"transfer of pods", func(*testing.B) func() error { return clients.bare }},
		{"versions", once(clients.pods, nil, audit.Options{})},
		{"versions, direct", once(clients.direct, nil, audit.Options{})},
		{"content", once(clients.pods, nil, audit.Options{Depth: audit.Content})},
		{"content, direct", once(clients.direct, nil, audit.Options{Depth: audit.Content})},
	} {
		b.Run(row.name, func(b *testing.B) {
			do := row.make(b)
			before, held := measure.LiveHeap(), uint64(0)
			server.atLast = func() { held = measure.LiveHeap() }
			require.NoError(b, do())
			server.atLast = nil
			measure.Settle()
			used, err := measure.Region(func() (err error) {
				for b.Loop() {
					err = errors.Join(err, do())
				}
				return err
			})
			require.NoError(b, err)
			each := float64(b.N) * auditedPods
			b.ReportMetric(float64(used.CPU.Nanoseconds())/each, "cpu-ns/object")
			b.ReportMetric(float64(used.Wall.Nanoseconds())/each, "wall-ns/object")
			b.ReportMetric(float64(used.Bytes)/each, "B/object")
			b.ReportMetric(float64(int64(held-before))/(1<<20), "MiB-held")
			b.ReportMetric(0, "ns/op")
		})
	}
}
