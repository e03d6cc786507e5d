// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload makes the objects of the benchmark: pods of a cluster with
// deployments that are in the middle of a rollout.
//
// For a population of n pods there are n/50 deployments of 50 pods each (2000 at n = 100,000), as
// many nodes, and a namespace for every 1000 pods. A deployment has two replica sets: 30 pods of
// the new one and 20 of the old. A pod is 6 to 12 KB of JSON, and what a pod looks like depends
// only on the seed and its number.
package workload

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	// PodsPerDeployment is the number of pods of one deployment, and the
	// average number of pods on one node.
	PodsPerDeployment = 50
	// PodsOfNewReplicaSet is the number of pods of a deployment that belong to its new replica set.
	// The others belong to the old one.
	PodsOfNewReplicaSet = 30
	// PodsPerNamespace is the number of pods of one full namespace.
	PodsPerNamespace = 1000
)

// Config says which population is made. Two equal configurations give equal pods.
type Config struct {
	// N is the number of pods.
	N int
	// Seed selects the population.
	Seed uint64
	// Light omits everything but the metadata that indexes need, for measurements that the objects'
	// own memory would distort.
	Light bool
}

// Population is a set of pods with their keys (namespace/name) in the same order. The pods are
// shared by all measurements and must not be modified.
type Population struct {
	Pods []*corev1.Pod
	Keys []string
}

// New makes the population in the memory layout that a client has after decoding a response: every
// pod is encoded as protobuf and decoded again, so no two pods share strings, slices or maps.
func New(ctx context.Context, cfg Config) (*Population, error) {
	p := &Population{Pods: make([]*corev1.Pod, cfg.N), Keys: make([]string, cfg.N)}
	var workers sync.WaitGroup
	stride := runtime.GOMAXPROCS(0)
	for worker := range stride {
		workers.Go(func() {
			for i := worker; i < cfg.N && ctx.Err() == nil; i += stride {
				p.Pods[i] = decoded(Pod(cfg, i))
				p.Keys[i] = p.Pods[i].Namespace + "/" + p.Pods[i].Name
			}
		})
	}
	workers.Wait()
	return p, ctx.Err()
}

// decoded returns the pod as a client receives it from the wire.
func decoded(pod *corev1.Pod) *corev1.Pod {
	wire, err := pod.Marshal()
	utilruntime.Must(err) // it is a pod
	received := &corev1.Pod{}
	utilruntime.Must(received.Unmarshal(wire))
	return received
}

// List returns the population as the typed list that a LIST request decodes
// to. The list's items are copies of the pods' structs and share all else.
func (p *Population) List(resourceVersion string) *corev1.PodList {
	list := &corev1.PodList{Items: make([]corev1.Pod, len(p.Pods))}
	list.ResourceVersion = resourceVersion
	for i, pod := range p.Pods {
		list.Items[i] = *pod
	}
	return list
}

// Version returns a later version of a pod: an own struct with its own
// resource version, sharing the rest with the original.
func Version(pod *corev1.Pod, resourceVersion string) *corev1.Pod {
	later := *pod
	later.ResourceVersion = resourceVersion
	return &later
}

// Moved returns a later version of a pod on another node and of another
// owner, so that its index values differ.
func Moved(pod *corev1.Pod, resourceVersion, node string, owner types.UID) *corev1.Pod {
	later := Version(pod, resourceVersion)
	later.Spec.NodeName = node
	owners := append(later.OwnerReferences[:0:0], later.OwnerReferences...)
	for i := range owners {
		owners[i].UID = owner
	}
	later.OwnerReferences = owners
	return later
}

// epoch is when the first pod was created; later pods follow by seconds.
var epoch = time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC)

// identity holds the names that one pod's fields repeat.
type identity struct {
	deployment string
	hash       string // of the pod template: differs between the replica sets
	namespace  string
	name       string
	node       string
	owner      types.UID
	version    string // of the application
	volume     string // of the service account's token: admission names one for each pod
	created    time.Time
}

// manifest is a pod with two containers, as JSON. Words that begin with $ are filled in.
var manifest = func() string {
	text, err := yaml.ToJSON(podYAML)
	utilruntime.Must(err)
	return string(text)
}()

//go:embed pod.yaml
var podYAML []byte

// Pod makes pod number i of a population, not yet in a client's memory layout. The pods of every
// other deployment have one container.
func Pod(cfg Config, i int) *corev1.Pod {
	ofPod := rand.New(rand.NewPCG(cfg.Seed+1, uint64(i)))
	id := identify(cfg, i, ofPod)
	pod := &corev1.Pod{ObjectMeta: objectMeta(id, i, ofPod)}
	if cfg.Light {
		pod.Spec.NodeName = id.node
		return pod
	}
	pairs := []string{
		"$deployment", id.deployment, "$hash", id.hash, "$namespace", id.namespace, "$node", id.node, "$owner", string(id.owner),
		"$release", id.version, "$volume", id.volume, "$port", strconv.Itoa(5000 + i/PodsPerDeployment%1000), "$podIP", address(ofPod),
		"$hostIP", address(ofPod), "$created", id.created.Format(time.RFC3339), "$reported", id.created.Add(5 * time.Second).Format(time.RFC3339),
	}
	for n := range 5 {
		digest := fmt.Sprintf("%016x%016x%016x%016x", ofPod.Uint64(), ofPod.Uint64(), ofPod.Uint64(), ofPod.Uint64())
		pairs = append(pairs, fmt.Sprint("$digest", n), digest)
	}
	full := &corev1.Pod{}
	utilruntime.Must(json.Unmarshal([]byte(strings.NewReplacer(pairs...).Replace(manifest)), full)) // it is a pod
	if i/PodsPerDeployment%2 == 0 {
		alone(full)
	}
	pod.Labels, pod.Annotations, pod.ManagedFields, pod.Spec, pod.Status = full.Labels, full.Annotations, full.ManagedFields, full.Spec, full.Status
	return pod
}

// alone removes the second container.
func alone(pod *corev1.Pod) {
	pod.Spec.Containers, pod.Status.ContainerStatuses = pod.Spec.Containers[:1], pod.Status.ContainerStatuses[:1]
	const behind = `},"f:dnsPolicy"`
	fields := pod.ManagedFields[0].FieldsV1
	before, proxy, _ := strings.Cut(fields.GetRawString(), `,"k:{\"name\":\"proxy\"}"`)
	_, after, _ := strings.Cut(proxy, behind)
	fields.SetRawBytes([]byte(before + behind + after))
}

// identify chooses the names of pod i. All pods of a deployment are in one
// namespace, because both group sizes divide it.
func identify(cfg Config, i int, ofPod *rand.Rand) identity {
	var (
		deployment = i / PodsPerDeployment
		nodes      = max(1, cfg.N/PodsPerDeployment)
		id         identity
		rollout    = 1
	)
	if i%PodsPerDeployment >= PodsOfNewReplicaSet {
		rollout = 0
	}
	id.deployment = fmt.Sprintf("%s-%s-%d", team(deployment), service(deployment), deployment)
	id.hash = fmt.Sprintf("%08x", uint32(deployment)*2654435761+uint32(rollout)*40503)
	id.namespace = fmt.Sprintf("%s-%03d", team(i/PodsPerNamespace), i/PodsPerNamespace)
	id.name = fmt.Sprintf("%s-%s-%05x", id.deployment, id.hash, i)
	id.node = fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i%nodes>>16&255, i%nodes>>8&255, i%nodes&255)
	id.owner = types.UID(fmt.Sprintf("%08x-%04x-4%03x-9000-%012x", deployment*7919, rollout, deployment&0xfff, deployment))
	id.volume = fmt.Sprintf("kube-api-access-%05x", uint32(i)*2654435761>>12)
	id.version = fmt.Sprintf("v2.%d.%d", deployment%30, rollout)
	id.created = epoch.Add(time.Duration(i)*time.Second + time.Duration(ofPod.IntN(1000))*time.Millisecond).Truncate(time.Second)
	return id
}

func team(i int) string {
	return [...]string{"payments", "catalogue", "search", "identity", "shipping", "platform", "pricing"}[i%7]
}

func service(i int) string {
	return [...]string{"api", "worker", "gateway", "indexer", "scheduler"}[i%5]
}

func objectMeta(id identity, i int, ofPod *rand.Rand) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Name:              id.name,
		GenerateName:      id.deployment + "-" + id.hash + "-",
		Namespace:         id.namespace,
		UID:               types.UID(fmt.Sprintf("%08x-%04x-4%03x-a000-%012x", ofPod.Uint32(), ofPod.Uint32()&0xffff, ofPod.Uint32()&0xfff, i)),
		ResourceVersion:   strconv.Itoa(100_000 + i),
		CreationTimestamp: metav1.NewTime(id.created),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: id.deployment + "-" + id.hash, UID: id.owner,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
}

func address(random *rand.Rand) string {
	return fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), random.IntN(256))
}
