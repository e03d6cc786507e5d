// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/kinformer/cache/e2e/apiserver"
)

const host = "127.0.0.1"

// Ports are taken at random from below the range out of which Linux gives
// ports to outgoing connections, so that a port is still free after a restart.
const (
	firstPort    = 20000
	lastPort     = 32000
	portAttempts = 50
)

// identity is what makes a server the same server after a restart.
type identity struct {
	certFile, keyFile     string
	cert                  []byte
	adminToken, userToken string
}

// loadIdentity reads the identity from dir and creates what is missing.
func loadIdentity(dir string) (*identity, error) {
	id := &identity{
		certFile: filepath.Join(dir, "pki", "apiserver.crt"),
		keyFile:  filepath.Join(dir, "pki", "apiserver.key"),
	}
	var err error
	if id.cert, err = loadCertificate(id.certFile, id.keyFile); err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	if id.adminToken, err = loadToken(filepath.Join(dir, "admin.token")); err != nil {
		return nil, fmt.Errorf("admin token: %w", err)
	}
	if id.userToken, err = loadToken(filepath.Join(dir, "user.token")); err != nil {
		return nil, fmt.Errorf("user token: %w", err)
	}
	return id, nil
}

func loadCertificate(certFile, keyFile string) ([]byte, error) {
	exists, err := certutil.CanReadCertAndKey(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	if exists {
		return os.ReadFile(certFile)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, []string{"localhost"})
	if err != nil {
		return nil, err
	}
	if err := keyutil.WriteKey(keyFile, key); err != nil {
		return nil, err
	}
	return cert, certutil.WriteCert(certFile, cert)
}

func loadToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b)), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	token := rand.Text()
	return token, os.WriteFile(path, []byte(token), 0o600)
}

// authenticator knows the two tokens and nobody else.
func (id *identity) authenticator() authenticator.Request {
	return bearertoken.New(tokenfile.New(map[string]*user.DefaultInfo{
		id.adminToken: {Name: "kinformer-admin", UID: "kinformer-admin",
			Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}},
		id.userToken: {Name: "kinformer-user", UID: "kinformer-user",
			Groups: []string{user.AllAuthenticated}},
	}))
}

// listener is the socket of the server.
type listener struct{ net.Listener }

// listen opens port, or a free one if it is 0. A fixed port that is taken is
// retried until ctx ends, for at most five seconds: the socket of a process that
// was just killed may linger.
func listen(ctx context.Context, port int, id *identity) (*listener, error) {
	if port == 0 {
		return listenAnywhere(ctx)
	}
	var l *listener
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*time.Second, true,
		func(ctx context.Context) (bool, error) {
			l, last = listenOn(ctx, port)
			return last == nil, nil
		})
	if err != nil {
		return nil, errors.Join(err, last)
	}
	return l, nil
}

func listenAnywhere(ctx context.Context) (*listener, error) {
	for range portAttempts {
		if l, err := listenOn(ctx, firstPort+mathrand.IntN(lastPort-firstPort)); err == nil {
			return l, nil
		}
	}
	return listenOn(ctx, 0)
}

func listenOn(ctx context.Context, port int) (*listener, error) {
	var cfg net.ListenConfig
	l, err := cfg.Listen(ctx, "tcp", fmt.Sprintf("%s:%d", host, port))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &listener{l}, nil
}

func (l *listener) port() int { return l.Addr().(*net.TCPAddr).Port }

func (l *listener) close() error { return l.Listener.Close() }

func (l *listener) endpoint(id *identity) apiserver.Endpoint {
	return apiserver.Endpoint{
		URL:        fmt.Sprintf("https://%s:%d", host, l.port()),
		Port:       l.port(),
		CA:         id.cert,
		AdminToken: id.adminToken,
		UserToken:  id.userToken,
	}
}
