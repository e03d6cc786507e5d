// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

// Package embedded is the API server of package apiserver, for its child process. It links
// k8s.io/apiserver and etcd: binaries that import it are large and take minutes to build the first time.
// The package does not exist under the race detector (build tag !race).
//
//	embedded.Run
//	  etcd      one member on 127.0.0.1, files in the data folder
//	  identity  serving certificate, kept in the data folder, and token
//	  core      GenericAPIServer: built-in types, discovery
//	    └─ crds   apiextensions server: all requests that core does not serve
package embedded

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/util/feature"

	"github.com/kinformer/cache/test/e2e/apiserver"
)

// Run runs a server in this process until ctx is done or in ends. It calls ready once the server serves.
// For each line of in, it compacts etcd and writes a Compacted to out.
func Run(ctx context.Context, opts apiserver.Options, in io.Reader, out io.Writer, ready func(apiserver.Endpoint) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan struct{})
	go func() {
		defer stop()
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- struct{}{}
		}
	}()
	if err := feature.DefaultMutableFeatureGate.Set(opts.FeatureGates); err != nil {
		return fmt.Errorf("feature gates: %w", err)
	}
	db, err := startEtcd(ctx, opts)
	if err != nil {
		return err
	}
	defer db.close()
	l, err := listen(ctx, opts.Port)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	chain, endpoint, err := newChain(opts, db, l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan struct{})
	var served error
	go func() {
		defer close(ended)
		served = chain.run(ctx)
	}()
	answers := json.NewEncoder(out)
	if err = chain.waitReady(ctx, ended); err == nil {
		err = errors.Join(endpoint.WriteKubeconfig(opts.DataDir), ready(endpoint))
	}
	if err != nil {
		stop()
	}
	for {
		select {
		case <-lines:
			var c apiserver.Compacted
			if c.Revision, err = db.compact(ctx); err != nil {
				c.Error = err.Error()
			}
			err = answers.Encode(c)
		case <-ended:
			return errors.Join(err, served)
		}
	}
}

const (
	// quotaBytes is the database size at which etcd refuses writes: more than tests write, less than a
	// disk holds.
	quotaBytes = 1 << 30

	// walSegmentBytes is preallocated twice per data folder. etcd's default of 64 MB would cost every
	// test 128 MB of disk.
	walSegmentBytes = 8 << 20

	// A single member elects itself after one election timeout: a short timeout makes the start quick.
	// etcd requires at least five ticks per timeout.
	tickMillis     = 20
	electionMillis = 200

	// compactRevisionKey is the etcd key under which API servers share the last compacted revision.
	compactRevisionKey = "compact_rev_key"
)

func init() { wal.SegmentSizeBytes = walSegmentBytes }

// database is an etcd member in this process and a client of it.
type database struct {
	server *embed.Etcd
	client *clientv3.Client
	url    string
}

func startEtcd(ctx context.Context, opts apiserver.Options) (*database, error) {
	server, err := embed.StartEtcd(etcdConfig(filepath.Join(opts.DataDir, "etcd")))
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
	case err = <-server.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	db := &database{server: server}
	if err == nil {
		db.url = "http://" + server.Clients[0].Addr().String()
		db.client, err = clientv3.New(clientv3.Config{Endpoints: []string{db.url}, Logger: zap.NewNop()})
	}
	if err != nil {
		db.close()
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return db, nil
}

// etcdConfig configures a single member without logs. The member does not fsync: a killed process loses
// nothing, since the kernel has its writes.
func etcdConfig(dir string) *embed.Config {
	freePort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "fatal"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = freePort, freePort
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = freePort, freePort
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = quotaBytes
	cfg.TickMs, cfg.ElectionMs = tickMillis, electionMillis
	return cfg
}

// compact removes all revisions before the current one from etcd, updates compactRevisionKey for the
// watch caches as API servers do, and returns the current revision.
func (d *database) compact(ctx context.Context) (int64, error) {
	current, err := d.client.Get(ctx, compactRevisionKey)
	if err != nil {
		return 0, fmt.Errorf("etcd: %w", err)
	}
	var version int64
	if len(current.Kvs) > 0 {
		version = current.Kvs[0].Version
	}
	_, _, compacted, err := etcd3.Compact(ctx, d.client, version, current.Header.Revision)
	if err != nil {
		return 0, fmt.Errorf("etcd: %w", err)
	}
	if compacted != current.Header.Revision {
		return 0, errors.New("etcd: compacted by somebody else at the same time")
	}
	return compacted, nil
}

// close stops the member. Its errors do not affect acknowledged writes. It must be called once.
func (d *database) close() {
	if d.client != nil {
		_ = d.client.Close() // returns only the cause of the close itself
	}
	d.server.Close()
}

// Random ports are below Linux's range for outgoing connections, so that a port is still free after a
// restart.
const firstPort, lastPort = 20000, 32000

// listen listens on port, or on a random free port if port is 0. It retries a port in use for five
// seconds: the socket of a killed process may linger.
func listen(ctx context.Context, port int) (l net.Listener, err error) {
	for range 100 {
		at := port
		if port == 0 {
			at = firstPort + rand.IntN(lastPort-firstPort)
		}
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", at)); err == nil {
			return l, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
	return nil, err
}

// serving returns options to serve on l, with a certificate kept in dir.
func serving(l net.Listener, dir string) (*options.SecureServingOptionsWithLoopback, apiserver.Endpoint, error) {
	at := l.Addr().(*net.TCPAddr)
	o := options.NewSecureServingOptions()
	o.BindAddress, o.BindPort, o.Listener = at.IP, at.Port, l
	o.ServerCert.CertDirectory, o.ServerCert.PairName = filepath.Join(dir, "pki"), "apiserver"
	e := apiserver.Endpoint{URL: "https://" + at.String(), Port: at.Port}
	if err := o.MaybeDefaultWithSelfSignedCerts(at.IP.String(), nil, nil); err != nil {
		return nil, e, err
	}
	var err error
	if e.CA, err = os.ReadFile(o.ServerCert.CertKey.CertFile); err != nil {
		return nil, e, err
	}
	key, err := os.ReadFile(o.ServerCert.CertKey.KeyFile)
	e.Token = fmt.Sprintf("%x", sha256.Sum256(append([]byte("token of "), key...))) // constant while the key is
	return o.WithLoopback(), e, err
}

// authenticatorOf accepts only the token of e.
func authenticatorOf(e apiserver.Endpoint) authenticator.Request {
	return bearertoken.New(tokenfile.New(map[string]*user.DefaultInfo{
		e.Token: {Name: "kinformer-admin", UID: "kinformer-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}},
	}))
}
