// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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

// Pod makes pod number i of a population, not yet in a client's memory layout.
func Pod(cfg Config, i int) *corev1.Pod {
	var (
		ofDeployment = rand.New(rand.NewPCG(cfg.Seed, uint64(i/PodsPerDeployment)))
		ofPod        = rand.New(rand.NewPCG(cfg.Seed+1, uint64(i)))
		id           = identify(cfg, i, ofPod)
	)
	pod := &corev1.Pod{ObjectMeta: objectMeta(id, i, ofPod)}
	if cfg.Light {
		pod.Spec.NodeName = id.node
		return pod
	}
	pod.Labels = labels(id)
	pod.Annotations = annotations(id, ofPod)
	pod.Spec = podSpec(id, ofDeployment)
	pod.ManagedFields = managedFields(id, pod.Spec.Containers)
	pod.Status = podStatus(id, pod.Spec.Containers, ofPod)
	return pod
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

func labels(id identity) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":       id.deployment,
		"app.kubernetes.io/instance":   id.deployment + "-production",
		"app.kubernetes.io/version":    id.version,
		"app.kubernetes.io/component":  "backend",
		"app.kubernetes.io/part-of":    "storefront",
		"app.kubernetes.io/managed-by": "Helm",
		"helm.sh/chart":                id.deployment + "-1.14.2",
		"team":                         id.namespace,
		"pod-template-hash":            id.hash,
	}
}

func annotations(id identity, ofPod *rand.Rand) map[string]string {
	return map[string]string{
		"checksum/config":                   fmt.Sprintf("%016x%016x%016x%016x", len(id.deployment), len(id.hash), 77, 91),
		"cni.projectcalico.org/containerID": fmt.Sprintf("%016x%016x%016x%016x", ofPod.Uint64(), ofPod.Uint64(), ofPod.Uint64(), ofPod.Uint64()),
		"cni.projectcalico.org/podIP":       address(ofPod) + "/32",
		"prometheus.io/scrape":              "true",
		"prometheus.io/port":                "9090",
		"kubectl.kubernetes.io/restartedAt": id.created.Format(time.RFC3339),
		"kubernetes.io/limit-ranger":        "LimitRanger plugin set: ephemeral-storage request for container " + id.deployment,
	}
}

func address(random *rand.Rand) string {
	return fmt.Sprintf("10.%d.%d.%d", random.IntN(256), random.IntN(256), random.IntN(256))
}

func podSpec(id identity, ofDeployment *rand.Rand) corev1.PodSpec {
	var (
		grace    = int64(30)
		seconds  = int64(300)
		priority = int32(1000)
		lower    = corev1.PreemptLowerPriority
		links    = true
	)
	spec := corev1.PodSpec{
		NodeName:                      id.node,
		ServiceAccountName:            id.deployment,
		DeprecatedServiceAccount:      id.deployment,
		SchedulerName:                 "default-scheduler",
		RestartPolicy:                 corev1.RestartPolicyAlways,
		DNSPolicy:                     corev1.DNSClusterFirst,
		TerminationGracePeriodSeconds: &grace,
		PriorityClassName:             "service",
		Priority:                      &priority,
		PreemptionPolicy:              &lower,
		EnableServiceLinks:            &links,
		SecurityContext:               &corev1.PodSecurityContext{},
		Tolerations: []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": id.deployment}},
		}},
		Volumes: volumes(id),
	}
	for c := range 1 + ofDeployment.IntN(2) {
		spec.Containers = append(spec.Containers, container(id, c, ofDeployment))
	}
	return spec
}

func volumes(id identity) []corev1.Volume {
	mode := int32(420)
	expires := int64(3607)
	return []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: id.deployment + "-config"}, DefaultMode: &mode}}},
		{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: id.deployment + "-tls", DefaultMode: &mode}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: id.volume, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: &mode,
			Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expires, Path: "token"}},
				{ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
					Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
					Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
			},
		}}},
	}
}

func container(id identity, number int, ofDeployment *rand.Rand) corev1.Container {
	c := corev1.Container{
		Name:                     [...]string{"app", "proxy"}[number],
		Image:                    fmt.Sprintf("registry.example.com/%s/%s:%s", id.namespace, id.deployment, id.version),
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Ports: []corev1.ContainerPort{
			{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		LivenessProbe:  probe("/healthz", 10),
		ReadinessProbe: probe("/readyz", 5),
		StartupProbe:   probe("/readyz", 2),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/" + id.deployment, ReadOnly: true},
			{Name: "tls", MountPath: "/var/run/tls", ReadOnly: true},
			{Name: "tmp", MountPath: "/tmp"},
			{Name: id.volume, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		Env: []corev1.EnvVar{
			fieldEnv("POD_NAME", "metadata.name"), fieldEnv("POD_NAMESPACE", "metadata.namespace"), fieldEnv("NODE_NAME", "spec.nodeName"),
		},
	}
	if number > 0 {
		c.StartupProbe = nil
		return c
	}
	for e := range 5 + ofDeployment.IntN(8) {
		c.Env = append(c.Env, corev1.EnvVar{
			Name:  fmt.Sprintf("%s_SETTING_%02d_ENDPOINT", [...]string{"DATABASE", "CACHE", "QUEUE"}[e%3], e),
			Value: fmt.Sprintf("tcp://%s-%d.%s.svc.cluster.local:%d", service(e), e, id.namespace, 5000+ofDeployment.IntN(1000)),
		})
	}
	return c
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

func probe(path string, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromString("http"), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 1, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: 3,
	}
}
