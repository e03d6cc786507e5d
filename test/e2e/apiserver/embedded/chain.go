// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"github.com/kinformer/cache/test/e2e/apiserver"
)

const (
	// watchDrain bounds how long a stop waits for open watches to end. Watches are notified at once, so
	// that a stop rarely waits that long.
	watchDrain = time.Second
	// shutdownTimeout then bounds the wait for connections. The generic API server's default is a
	// minute.
	shutdownTimeout = 2 * time.Second
)

// chain is two servers in series: core answers requests for built-in resources, crds all others.
type chain struct {
	server   *genericapiserver.GenericAPIServer
	crds     *genericapiserver.GenericAPIServer
	loopback *restclient.Config
}

func newChain(opts apiserver.Options, db *database, l net.Listener) (*chain, apiserver.Endpoint, error) {
	base, endpoint, err := baseConfig(opts, l)
	if err != nil {
		return nil, endpoint, fmt.Errorf("serving: %w", err)
	}
	roles := rbac{}
	if opts.RBAC {
		base.Authorization.Authorizer = authorizer.AuthorizerFunc(roles.authorize)
	}
	crds, err := newCRDServer(*base, opts, db)
	if err != nil {
		return nil, endpoint, fmt.Errorf("custom resources: %w", err)
	}
	core, err := newCoreServer(*base, opts, db, crds, roles)
	if err != nil {
		return nil, endpoint, fmt.Errorf("built-in resources: %w", err)
	}
	core.ShutdownTimeout = shutdownTimeout
	return &chain{server: core, crds: crds.GenericAPIServer, loopback: base.LoopbackClientConfig}, endpoint, nil
}

// baseConfig returns the configuration common to both servers.
func baseConfig(opts apiserver.Options, l net.Listener) (*genericapiserver.Config, apiserver.Endpoint, error) {
	cfg := genericapiserver.NewConfig(builtinCodecs)
	secure, endpoint, err := serving(l, opts.DataDir)
	if err == nil {
		err = secure.ApplyTo(&cfg.SecureServing, &cfg.LoopbackClientConfig)
	}
	if err != nil {
		return nil, endpoint, err
	}
	cfg.PublicAddress = secure.BindAddress
	cfg.Authentication.Authenticator = authenticatorOf(endpoint)
	cfg.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	cfg.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	cfg.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	cfg.ShutdownWatchTerminationGracePeriod = watchDrain
	return cfg, endpoint, nil
}

func newCoreServer(cfg genericapiserver.Config, opts apiserver.Options, db *database,
	next *apiextensions.CustomResourceDefinitions, roles rbac,
) (*genericapiserver.GenericAPIServer, error) {
	codec, versioner := storageCodec()
	etcd := etcdOptions(opts, db, codec)
	etcd.StorageConfig.EncodeVersioner = versioner
	cfg.RESTOptionsGetter = restOptions(etcd)
	cfg.OpenAPIConfig, cfg.OpenAPIV3Config = openAPIConfigs()
	cfg.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	server, err := cfg.Complete(nil).New("kinformer-core", next.GenericAPIServer)
	if err != nil {
		return nil, err
	}
	if err := installResources(server, &cfg, roles); err != nil {
		return nil, err
	}
	return server, nil
}

// installResources creates and routes the storage of every built-in resource. It adds the stores of
// roles and bindings to roles.
func installResources(server *genericapiserver.GenericAPIServer, cfg *genericapiserver.Config, roles rbac) error {
	groups := map[string]*genericapiserver.APIGroupInfo{}
	for _, r := range resources {
		group, ok := groups[r.version.Group]
		if !ok {
			info := genericapiserver.NewDefaultAPIGroupInfo(r.version.Group, builtin,
				runtime.NewParameterCodec(builtin), builtinCodecs)
			info.VersionedResourcesStorageMap[r.version.Version] = map[string]rest.Storage{}
			group = &info
			groups[r.version.Group] = group
		}
		storage, err := newStorage(r, cfg.RESTOptionsGetter)
		if err != nil {
			return err
		}
		maps.Copy(group.VersionedResourcesStorageMap[r.version.Version], storage)
		if r.version.Group == rbacv1.GroupName {
			roles[r.plural] = storage[r.plural].(*registry.Store)
		}
	}
	legacy := groups[""]
	delete(groups, "")
	if err := server.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, legacy); err != nil {
		return err
	}
	return server.InstallAPIGroups(slices.Collect(maps.Values(groups))...)
}

// run serves until ctx is done.
func (c *chain) run(ctx context.Context) error {
	prepared := c.server.PrepareRun()
	if err := publish(c.server, c.crds); err != nil {
		return err
	}
	return prepared.RunWithContext(ctx)
}

// waitReady blocks until the server reports that it is ready. It returns an error if ctx or the server
// ends first.
func (c *chain) waitReady(ctx context.Context, ended <-chan struct{}) error {
	client, err := kubernetes.NewForConfig(c.loopback)
	if err != nil {
		return fmt.Errorf("loopback client: %w", err)
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		select {
		case <-ended:
			return false, errors.New("the server ended")
		default:
		}
		_, last = client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("wait for readiness: %w", err), last)
	}
	return nil
}

// storagePrefix is the prefix of all keys in etcd.
const storagePrefix = "/registry"

// newCRDServer creates the server of custom resources and their definitions, the last in the chain.
func newCRDServer(cfg genericapiserver.Config, opts apiserver.Options, db *database) (*apiextensions.CustomResourceDefinitions, error) {
	etcd := etcdOptions(opts, db, apiextensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion))
	cfg.Serializer = apiextensions.Codecs
	cfg.RESTOptionsGetter = restOptions(etcd)
	cfg.SkipOpenAPIInstallation = true // see publish
	cfg.MergedResourceConfig = apiextensions.DefaultAPIResourceConfigSource()
	cfg.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	cfg.OpenAPIV3Config = crdOpenAPIConfig()
	config := &apiextensions.Config{
		GenericConfig: &genericapiserver.RecommendedConfig{Config: cfg},
		ExtraConfig: apiextensions.ExtraConfig{
			CRDRESTOptionsGetter: crdoptions.NewCRDRESTOptionsGetter(*etcd, nil, nil),
			MasterCount:          1,
			ServiceResolver:      webhook.NewDefaultServiceResolver(),
			AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil,
				cfg.LoopbackClientConfig, noopoteltrace.NewTracerProvider()),
		},
	}
	return config.Complete().New(genericapiserver.NewEmptyDelegate())
}

// etcdOptions returns the options to store objects, encoded by codec, in db.
func etcdOptions(opts apiserver.Options, db *database, codec runtime.Codec) *options.EtcdOptions {
	etcd := options.NewEtcdOptions(storagebackend.NewDefaultConfig(storagePrefix, codec))
	etcd.StorageConfig.Transport.ServerList = []string{db.url}
	etcd.EnableWatchCache = !opts.DisableWatchCache
	etcd.SkipHealthEndpoints = true
	return etcd
}

func restOptions(etcd *options.EtcdOptions) generic.RESTOptionsGetter {
	factory := &options.SimpleStorageFactory{StorageConfig: etcd.StorageConfig}
	return etcd.CreateRESTOptionsGetter(factory, nil)
}
