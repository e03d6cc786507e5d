// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/etcd3"

	"github.com/kinformer/cache/e2e/apiserver"
)

const (
	// quotaBytes is where etcd refuses writes: far more than a test writes, far
	// less than a disk.
	quotaBytes = 1 << 30

	// walSegmentBytes is preallocated twice per data folder. etcd's own 64 MB
	// would cost every test 128 MB of disk.
	walSegmentBytes = 8 << 20

	// A lone member elects itself after one election timeout, so a short one
	// makes the start quick. etcd wants at least five ticks in it.
	tickMillis     = 20
	electionMillis = 200

	// compactRevisionKey is where API servers tell each other up to where etcd
	// is compacted.
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

// etcdConfig describes a single quiet member. It does not fsync: a killed
// process loses nothing by that, since the kernel has its writes.
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

// compact makes etcd forget all revisions before the current one, which it
// returns, and says so to the watch caches the way API servers do.
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

// close stops the member; nothing in it can fail in a way that matters to
// acknowledged writes. It is called once.
func (d *database) close() {
	if d.client != nil {
		_ = d.client.Close() // returns only the reason of the close itself
	}
	d.server.Close()
}
