// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/bench/cluster/internal/world"
)

// pages has the snapshots whose next pages may be asked for: the latest ones.
type pages struct {
	mu struct {
		sync.Mutex
		next  uint64
		known map[uint64]world.Snapshot
	}
}

// mostPaged is how many snapshots are kept: one more than there are informers, for each that
// started anew in the middle.
const mostPaged = 2 * int(world.Resources)

func (p *pages) keep(s world.Snapshot) (number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.known == nil {
		p.mu.known = map[uint64]world.Snapshot{}
	}
	p.mu.next++
	p.mu.known[p.mu.next] = s
	delete(p.mu.known, p.mu.next-uint64(mostPaged))
	return p.mu.next
}

func (p *pages) find(number uint64) (s world.Snapshot, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, known = p.mu.known[number]
	return s, known
}

// page is a part of a snapshot.
type page struct {
	snapshot world.Snapshot
	from, to int
	next     string
}

// list serves a list: whole for the version "0", as from the cache of an API server, which knows no
// pages, and else in pages as asked for; as of a version, if that is wanted exactly.
func (s *server) list(w http.ResponseWriter, r *http.Request, of world.Resource) {
	p, err := s.page(r, of)
	if err != nil {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	items := p.snapshot.Objects[p.from:p.to]
	around, err := s.forms.List(of, items, p.snapshot.Version, p.next, len(p.snapshot.Objects)-p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", s.config.MediaType)
	buffer := around.Before
	for i := range items {
		buffer = s.forms.AppendItem(buffer, of, &items[i], i == 0)
		if len(buffer) < chunk {
			continue
		}
		if _, err := w.Write(buffer); err != nil {
			return // the client is gone
		}
		buffer = buffer[:0]
	}
	_, _ = w.Write(append(buffer, around.After...))
}

var errToken = errors.New("the continue token has expired")

// page finds what a request asks for.
func (s *server) page(r *http.Request, of world.Resource) (p page, err error) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit")) // 0: none
	number, err := s.begin(&p, query, of)
	if err != nil {
		return p, err
	}
	p.to = len(p.snapshot.Objects)
	if limit <= 0 || p.from+limit >= p.to || query.Get("resourceVersion") == "0" {
		return p, nil
	}
	if number == 0 {
		number = s.pages.keep(p.snapshot)
	}
	p.to = p.from + limit
	p.next = fmt.Sprintf("%d.%d", number, p.to)
	return p, nil
}

// begin finds the snapshot, and where in it the page begins. Number is what pages know it by; 0 for
// a new one.
func (s *server) begin(p *page, query url.Values, of world.Resource) (number uint64, err error) {
	if token := query.Get("continue"); token != "" {
		var known bool
		if _, err := fmt.Sscanf(token, "%d.%d", &number, &p.from); err == nil {
			p.snapshot, known = s.pages.find(number)
		}
		if !known || p.from > len(p.snapshot.Objects) {
			return 0, errToken
		}
		return number, nil
	}
	if query.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchExact) {
		p.snapshot = s.snapshot(of)
		return 0, nil
	}
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	if err == nil {
		p.snapshot, err = s.world.Shelf(of).At(version)
	}
	return 0, err
}
