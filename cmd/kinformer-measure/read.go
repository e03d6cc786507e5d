// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

const (
	// largestAnswer is the most that is read of one list, and held in memory.
	largestAnswer = 32 << 20
	// requestTime is how long one request may take.
	requestTime = time.Minute
	// requestRate is how many requests there are a second at most.
	requestRate = 20
)

var (
	errTooLarge = errors.New("its objects are too large")
	errNoMore   = errors.New("as much as -max-bytes says was read before")
)

// cluster is where lists are read from.
type cluster struct {
	config    *rest.Config
	namespace string
	limit     int64 // objects of a list
	left      int64 // bytes that may still be read
	most      int64 // bytes of one list
}

// quietly returns a configuration whose clients say nothing by themselves.
func quietly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Timeout, config.QPS, config.Burst = requestTime, requestRate, requestRate
	config.WarningHandler = rest.NoWarnings{}
	config.UserAgent = "kinformer-measure"
	return config
}

// list returns the list of a resource as it was sent, in the encoding that generated clients ask
// for: protobuf if there is a Go type that knows it. A list that is too large is asked for again,
// with fewer objects.
func (c *cluster) list(ctx context.Context, r resource) ([]byte, error) {
	client, err := restClient(quietly(c.config), r)
	if err != nil {
		return nil, err
	}
	for limit := c.limit; ; limit = max(1, limit/8) {
		body, err := c.read(ctx, client, r, limit)
		if !errors.Is(err, errTooLarge) || limit == 1 {
			return body, err
		}
	}
}

func (c *cluster) read(ctx context.Context, client rest.Interface, r resource, limit int64) ([]byte, error) {
	if c.left <= 0 {
		return nil, errNoMore
	}
	accept := runtime.ContentTypeJSON
	if readsProtobuf(r) {
		accept = runtime.ContentTypeProtobuf + "," + accept
	}
	request := client.Get().NamespaceIfScoped(c.namespace, r.namespaced && c.namespace != "").Resource(r.Resource).
		Param("limit", strconv.FormatInt(limit, 10)).SetHeader("Accept", accept)
	stream, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	most := min(c.most, c.left)
	body, err := io.ReadAll(io.LimitReader(stream, most))
	c.left -= int64(len(body))
	if int64(len(body)) == most && err == nil {
		err = errTooLarge
	}
	if failed := stream.Close(); err == nil {
		err = failed
	}
	return body, err
}

// restClient returns a client for the group and version of a resource.
func restClient(config *rest.Config, r resource) (*rest.RESTClient, error) {
	version := r.GroupVersion()
	config.GroupVersion, config.NegotiatedSerializer = &version, scheme.Codecs.WithoutConversion()
	if config.APIPath = "/apis"; r.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, explained(err)
	}
	return client, nil
}

// readsProtobuf reports whether the Go type of a resource, if there is one, knows protobuf.
func readsProtobuf(r resource) bool {
	example, err := scheme.Scheme.New(r.gvk())
	_, reads := example.(interface{ Unmarshal([]byte) error })
	return err == nil && reads
}

// mediaTypeOf returns how a body is written, which a stream does not say.
func mediaTypeOf(body []byte) string {
	if bytes.HasPrefix(body, []byte("k8s\x00")) {
		return runtime.ContentTypeProtobuf
	}
	return runtime.ContentTypeJSON
}

// explained returns an error that says what happened without the names that a server, or a decoder,
// puts into its errors.
func explained(err error) error {
	var failed *url.Error
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return fmt.Errorf("the server says: %s", reason)
	}
	var timeout net.Error
	switch {
	case errors.Is(err, errTooLarge), errors.Is(err, errNoMore),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("there was no answer in time")
	case errors.As(err, &failed):
		return fmt.Errorf("the request failed: %w", failed.Err)
	}
	return fmt.Errorf("the request failed, with an error of type %T", err)
}
