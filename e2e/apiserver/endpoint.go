// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Endpoint is what a client needs to reach a server.
type Endpoint struct {
	// URL is https://127.0.0.1:port.
	URL string `json:"url"`
	// Port is the port in URL.
	Port int `json:"port"`
	// CA is the certificate to trust, in PEM.
	CA []byte `json:"ca"`
	// AdminToken is the bearer token of a member of system:masters.
	AdminToken string `json:"adminToken"`
	// UserToken is the bearer token of a user without privileges.
	UserToken string `json:"userToken"`
}

// readyPrefix starts the line by which a child says that it serves.
const readyPrefix = "READY "

// WriteReady writes the line that tells StartChild that the server serves at
// ep. Only the main package of the child calls it.
func WriteReady(w io.Writer, ep Endpoint) error {
	b, err := json.Marshal(ep)
	if err != nil {
		return fmt.Errorf("ready line: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", readyPrefix, b); err != nil {
		return fmt.Errorf("ready line: %w", err)
	}
	return nil
}

// parseReady returns the endpoint of a READY line; ok is false for any other
// line.
func parseReady(line []byte) (ep Endpoint, ok bool, err error) {
	payload, ok := bytes.CutPrefix(line, []byte(readyPrefix))
	if !ok {
		return Endpoint{}, false, nil
	}
	if err := json.Unmarshal(payload, &ep); err != nil {
		return Endpoint{}, true, fmt.Errorf("ready line %q: %w", payload, err)
	}
	return ep, true, nil
}
