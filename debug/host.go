// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// misdirected is the answer to a request for another host.
const misdirected = "This page shows objects, so it answers only for localhost, IP addresses and the names in debug.Options.Hosts. " +
	"If it is to answer for the host of this request, add that to Options.Hosts."

// answersTo reports whether the page answers requests for a host. With objects it refuses names
// that another site may have resolved to this address, so that a page of that site could read this
// one in the browser (DNS rebinding).
func (o *Options) answersTo(host string) bool {
	if !o.Objects {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	isHost := func(name string) bool { return strings.EqualFold(strings.TrimSuffix(name, "."), host) }
	return isHost("localhost") || slices.ContainsFunc(o.Hosts, isHost)
}
