// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/options"

	"github.com/kinformer/cache/e2e/apiserver"
)

// Ports are taken at random from below the range out of which Linux gives
// ports to outgoing connections, so that a port is still free after a restart.
const firstPort, lastPort = 20000, 32000

// listen opens a port, or a free one if it is 0. One that is taken is tried for
// five seconds: the socket of a process that was just killed may linger.
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

// serving has a server serve on l, with a certificate that is kept in dir.
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
	e.Token = fmt.Sprintf("%x", sha256.Sum256(append([]byte("token of "), key...))) // the same as long as the key is
	return o.WithLoopback(), e, err
}

// authenticatorOf knows the token and nobody else.
func authenticatorOf(e apiserver.Endpoint) authenticator.Request {
	return bearertoken.New(tokenfile.New(map[string]*user.DefaultInfo{
		e.Token: {Name: "kinformer-admin", UID: "kinformer-admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}},
	}))
}
