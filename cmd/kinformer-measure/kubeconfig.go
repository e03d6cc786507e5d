// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterConfig returns the configuration of clients for a context of a kubeconfig, "" for the
// current one: of that file, or else of those that kubectl would read, or else of the cluster that
// this runs in.
func clusterConfig(file, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = file
	all, err := rules.Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("kubeconfig: %w", err)
	case err != nil:
		return nil, errors.New("kubeconfig: it cannot be read as one") // the error may have parts of it
	}
	config, err := clientcmd.NewDefaultClientConfig(*all, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	switch {
	case err == nil:
		return config, nil
	case !clientcmd.IsEmptyConfig(err):
		return nil, fmt.Errorf("kubeconfig: %w", err)
	case file != "" || len(all.Contexts) > 0:
		return nil, fmt.Errorf("kubeconfig: there is no cluster for context %q", cmp.Or(context, all.CurrentContext))
	}
	if config, err = rest.InClusterConfig(); err != nil {
		return nil, errors.New("no cluster: give -kubeconfig")
	}
	return config, nil
}
