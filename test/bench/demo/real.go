// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/test/bench/internal/blank"
	"github.com/kinformer/cache/test/bench/internal/serve"
	"github.com/kinformer/cache/test/bench/internal/world"
)

// real is the API server of the end-to-end tests, k8s.io/apiserver with etcd. The demo runs its binary,
// and so compiles neither. The server writes an answer to its standard output when it serves, and one
// for each line of its standard input, whose end ends the server.
type real struct {
	binary, folder string
	process        *exec.Cmd
	in             io.WriteCloser
	answers        *json.Decoder
	at             struct {
		endpoint
		Port int // stays the same after a restart
	}
	clients [world.Resources]*rest.RESTClient
	pods    []types.NamespacedName // in the order of a LIST
}

// startReal starts the server and creates its objects. The server does not end with ctx.
func startReal(ctx context.Context, binary string, pods int) (s *real, err error) {
	s = &real{binary: binary}
	if s.folder, err = os.MkdirTemp("", "kinformer-demo-"); err != nil {
		return nil, err
	}
	if err = s.launch(); err == nil {
		err = s.fill(ctx, pods)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// launch starts the process and returns once it serves.
func (s *real) launch() error {
	s.process = exec.Command(s.binary, "-data-dir="+s.folder, "-port="+strconv.Itoa(s.at.Port), "-json")
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the demo does not end the server
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own copy
	s.process.Stderr = log
	in, err := s.process.StdinPipe()
	out, err2 := s.process.StdoutPipe()
	if err = errors.Join(err, err2); err == nil {
		err = s.process.Start()
	}
	if err != nil {
		return err
	}
	s.in, s.answers = in, json.NewDecoder(out)
	if err := s.answers.Decode(&s.at); err != nil {
		said, _ := os.ReadFile(log.Name()) // an error leaves it empty
		return fmt.Errorf("%s has not started: %w\n%s", s.binary, err, said)
	}
	return nil
}

// fill creates the pods, and the leases of nodes.
func (s *real) fill(ctx context.Context, pods int) (err error) {
	for _, of := range []world.Resource{world.Pods, world.Leases} {
		if s.clients[of], err = serve.Client(s.at.config(false), of, blank.Protobuf); err != nil {
			return err
		}
	}
	failed := make(chan error)
	for first := range workers {
		go func() { failed <- s.fillFrom(ctx, first, pods) }()
	}
	for range workers {
		err = errors.Join(err, <-failed)
	}
	return errors.Join(err, s.list(ctx))
}

// fillFrom creates the objects of a worker, whose first one has the given number.
func (s *real) fillFrom(ctx context.Context, first, pods int) (err error) {
	for i := first; i < pods && err == nil; i += workers {
		pod := workload.Pod(workload.Config{N: pods}, i)
		pod.ResourceVersion = ""
		err = s.create(ctx, world.Pods, pod)
	}
	for i := first; i < leases && err == nil; i += workers {
		lease := &coordinationv1.Lease{}
		lease.Namespace, lease.Name = blank.LeaseNamespace, blank.LeaseName(uint32(i))
		err = s.create(ctx, world.Leases, lease)
	}
	return err
}

// create creates an object.
func (s *real) create(ctx context.Context, of world.Resource, object interface {
	metav1.Object
	runtime.Object
}) error {
	return s.clients[of].Post().Namespace(object.GetNamespace()).Resource(of.String()).Body(object).Do(ctx).Error()
}

// list stores the names of the pods.
func (s *real) list(ctx context.Context) error {
	var list corev1.PodList
	err := s.clients[world.Pods].Get().Resource(world.Pods.String()).Do(ctx).Into(&list)
	for i := range list.Items {
		s.pods = append(s.pods, types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name})
	}
	return err
}

func (s *real) endpoint() endpoint { return s.at.endpoint }

// touch patches the status of a pod as a kubelet does, or renews a lease. It fails while the server is
// down.
func (s *real) touch(ctx context.Context, of world.Resource, number int) (string, error) {
	now := time.Now().UTC()
	patch := s.clients[of].Patch(types.MergePatchType).Namespace(blank.LeaseNamespace).Name(blank.LeaseName(uint32(number)))
	body := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, now.Format(metav1.RFC3339Micro))
	if of == world.Pods {
		name := s.pods[number]
		patch = s.clients[of].Patch(types.StrategicMergePatchType).Namespace(name.Namespace).Name(name.Name).SubResource("status")
		body = fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}],"message":"update %d"}}`,
			now.Format(time.RFC3339), rand.Uint32())
	}
	object, err := patch.Resource(of.String()).Body([]byte(body)).Do(ctx).Get()
	if err != nil {
		return "", err
	}
	return object.(metav1.Object).GetResourceVersion(), nil
}

// cut compacts etcd and kills the server, which without the cache of its process has no history then.
func (s *real) cut(context.Context) error {
	_, err := io.WriteString(s.in, "compact\n")
	var compacted struct{ Error string }
	err = errors.Join(err, s.answers.Decode(&compacted))
	if compacted.Error != "" {
		err = errors.Join(err, errors.New(compacted.Error))
	}
	err = errors.Join(err, s.process.Process.Kill())
	_ = s.process.Wait() // it was killed
	return err
}

// restore starts the server again on its data.
func (s *real) restore(context.Context) error { return s.launch() }

// stop ends the server and deletes its data.
func (s *real) stop() error {
	if s.in != nil {
		_ = s.in.Close() // the server may have ended
		_ = s.process.Wait()
	}
	return os.RemoveAll(s.folder)
}
