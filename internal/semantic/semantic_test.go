// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package semantic

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// message is like a message of protobuf's second API: state is a cache.
type message struct {
	_     [0]sync.Mutex
	state *int
	Text  string
}

func (*message) ProtoReflect() {}

// TestEqual: an absent value equals an empty one, values of types with unexported fields are
// compared with these, and the caches of messages are ignored.
func TestEqual(t *testing.T) {
	type slim struct {
		Names []string
		node  string
	}
	type locked struct {
		_    sync.Mutex
		node string
	}
	type spec struct{ Message message }
	now := time.Now()
	for _, test := range []struct {
		name string
		a, b any
		same bool
	}{
		{"nil and empty", &corev1.Pod{}, &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{}}}, true},
		{"other content", &corev1.Pod{}, &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}}, false},
		{"unexported", &slim{node: "a"}, &slim{node: "a"}, true},
		{"other unexported", &slim{node: "a"}, &slim{node: "b"}, false},
		{"locks", &locked{node: "a"}, &locked{node: "a"}, true},
		{"other than locks", &locked{node: "a"}, &locked{node: "b"}, false},
		{"times", &now, new(now.Add(1)), false},
		{"messages", &message{Text: "a"}, &message{Text: "a", state: new(1)}, true},
		{"messages with other caches", &message{Text: "a", state: new(2)}, &message{Text: "a", state: new(1)}, true},
		{"other messages", &message{Text: "a"}, &message{Text: "b"}, false},
		{"messages in slices", []spec{{message{Text: "a"}}}, []spec{{message{Text: "a", state: new(1)}}}, true},
		{"messages in maps", map[string]*message{"a": {state: new(1)}}, map[string]*message{"a": {}}, true},
		{"other messages in maps", map[string]*message{"a": {}}, map[string]*message{"b": {}}, false},
		{"another type", &message{}, &spec{}, false},
		{"nothing", nil, nil, true},
		{"nothing and something", nil, &spec{}, false},
	} {
		assert.Equal(t, test.same, Equal(test.a, test.b), test.name)
		assert.Equal(t, test.same, Equal(test.b, test.a), test.name)
	}
}
