// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// token is the token of a user with all permissions.
const token = "conformance"

const kubeconfig = `{"kind": "Config", "apiVersion": "v1", "current-context": "c",
	"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
	"clusters": [{"name": "c", "cluster": {"server": %q, "insecure-skip-tls-verify": true}}],
	"users": [{"name": "u", "user": {"token": %q}}]}`

// cluster is the processes of a control plane, which listen on 127.0.0.1 only.
type cluster struct {
	etcd, server       *program
	manager, scheduler *program // built for the variant
	client             kubernetes.Interface
	data               string
}

// newCluster prepares a control plane with data in dir and programs in bin. Each program runs once and
// without leader election: a leader would exit in an outage of the server.
func newCluster(bin, dir string, v variant) (*cluster, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return nil, err
	}
	ports, err := freePorts(5)
	if err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	url := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", ports[i]) }
	of := func(folder, name string, i int, args ...string) *program {
		return &program{path: filepath.Join(bin, folder, name), log: in(name + ".log"), args: args, port: ports[i]}
	}
	serving := func(i int) []string {
		return []string{"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[i]), "--cert-dir=" + in(fmt.Sprint("certificates-", i))}
	}
	config := &rest.Config{Host: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		err = writeSecrets(in, config.Host)
	}
	component := []string{"--kubeconfig=" + in("kubeconfig"), "--leader-elect=false", "--kube-api-qps=1000", "--kube-api-burst=2000",
		"--authorization-always-allow-paths=/metrics,/debug/pprof/*", "-v=2"}
	c := &cluster{client: client, data: in("etcd"),
		etcd: of("", "etcd", 0, "--data-dir="+in("etcd"), "--unsafe-no-fsync", "--log-level=error", "--quota-backend-bytes=8589934592",
			"--listen-client-urls="+url(0), "--advertise-client-urls="+url(0),
			"--listen-peer-urls="+url(1), "--initial-advertise-peer-urls="+url(1), "--initial-cluster=default="+url(1)),
		server: of("", "kube-apiserver", 2, append(serving(2), "--etcd-servers="+url(0), "--advertise-address=127.0.0.1",
			"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/12", "--token-auth-file="+in("tokens"), "--authorization-mode=RBAC",
			"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+in("key"), "--service-account-signing-key-file="+in("key"),
			"--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000",
			"--default-not-ready-toleration-seconds=5", "--default-unreachable-toleration-seconds=5")...),
		manager: of(v.folder, "kube-controller-manager", 3, append(append(serving(3), component...),
			"--service-account-private-key-file="+in("key"), "--node-eviction-rate=1")...),
		scheduler: of(v.folder, "kube-scheduler", 4, append(serving(4), component...)...),
	}
	c.manager.env, c.scheduler.env = v.env, v.env
	return c, err
}

// freePorts returns n free ports.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// writeSecrets writes the token, the kubeconfig file with it, and the key that signs tokens of service
// accounts.
func writeSecrets(in func(string) string, host string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return errors.Join(os.WriteFile(in("key"), pem.EncodeToMemory(block), 0o600),
		os.WriteFile(in("tokens"), []byte(token+",admin,admin,system:masters\n"), 0o600),
		os.WriteFile(in("kubeconfig"), fmt.Appendf(nil, kubeconfig, host, token), 0o600))
}

// start starts all programs, those of the variant once the server is ready.
func (c *cluster) start(ctx context.Context) error {
	if err := c.etcd.start(ctx); err != nil {
		return err
	}
	if err := c.startServer(ctx, func(err error) bool { return err == nil }); err != nil {
		return err
	}
	return c.startVariant(ctx)
}

// startVariant starts the controller manager and the scheduler.
func (c *cluster) startVariant(ctx context.Context) error {
	if err := c.manager.start(ctx); err != nil {
		return err
	}
	return c.scheduler.start(ctx)
}

// startServer starts the API server, and requests /readyz until isEnough returns true for the result.
func (c *cluster) startServer(ctx context.Context, isEnough func(error) bool) error {
	if err := c.server.start(ctx); err != nil {
		return err
	}
	return await(ctx, 20*time.Millisecond, func(ctx context.Context) error {
		_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(time.Second).DoRaw(ctx)
		if isEnough(err) {
			err = nil
		}
		return errors.Join(err, c.check())
	})
}

// check returns an error if a process has ended.
func (c *cluster) check() (err error) {
	for _, p := range []*program{c.etcd, c.server, c.manager, c.scheduler} {
		if p.ended != nil {
			err = errors.Join(err, p.check())
		}
	}
	return err
}

// stop kills all processes and removes etcd's data. The logs remain.
func (c *cluster) stop() error {
	for _, p := range []*program{c.manager, c.scheduler, c.server, c.etcd} {
		if p.ended != nil {
			p.command.Process.Kill() // an error means that the process has ended
			<-p.ended
		}
	}
	return os.RemoveAll(c.data)
}
