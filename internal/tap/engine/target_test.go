// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTargetOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://h:6443/api/v1/pods?limit=3&labelSelector=a%3Db":                                 "h:6443: pods.v1 with labels a=b",
		"https://h/api/v1/namespaces":                                                            "h: namespaces.v1",
		"https://h/api/v1/namespaces/two/pods?fieldSelector=x!%3Dy":                              "h: pods.v1 in namespace two with fields x!=y",
		"https://h/apis/demo.example.com/v1beta1/widgets?watch=true":                             "h: widgets.v1beta1.demo.example.com",
		"https://h/k8s/clusters/c-1/apis/apps/v1/namespaces/namespaces/deployments/":             "h/k8s/clusters/c-1: deployments.v1.apps in namespace namespaces",
		"https://h/apis/namespaces/v1/namespaces":                                                "h: namespaces.v1.namespaces",
		"https://h/apis/namespaces/v1/namespaces/a/b?labelSelector=x,y+in+(1,2)&fieldSelector=z": "h: b.v1.namespaces in namespace a with labels x,y in (1,2) with fields z",
		"https://h/token": "h: ",
		"https://h":       "h: ",
		"":                ": ",
	} {
		u, err := url.Parse(address)
		require.NoError(t, err)
		got := targetOf(u)
		assert.Equal(t, want, got.Server+": "+got.String(), address)
		assert.Equal(t, got.String() == "", got.IsZero())
	}
}
