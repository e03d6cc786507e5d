// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// smallMeta is the metadata of objects that are no pods: names, a few labels,
// and one manager.
func smallMeta(cfg Config, i int, kind, namespace, manager, fields string) (metav1.ObjectMeta, time.Time) {
	random := rand.New(rand.NewPCG(cfg.Seed+2, uint64(i)))
	created := metav1.NewTime(epoch.Add(time.Duration(i) * time.Second))
	return metav1.ObjectMeta{
		Name:              fmt.Sprintf("%s-%s-%05x", service(i), kind, i),
		Namespace:         namespace,
		UID:               types.UID(fmt.Sprintf("%08x-%04x-4%03x-b000-%012x", random.Uint32(), random.Uint32()&0xffff, random.Uint32()&0xfff, i)),
		ResourceVersion:   strconv.Itoa(100_000 + i),
		CreationTimestamp: created,
		Labels: map[string]string{
			"app.kubernetes.io/name":       service(i),
			"app.kubernetes.io/managed-by": "Helm",
			"team":                         team(i / PodsPerNamespace),
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsType: "FieldsV1", Time: &created, FieldsV1: metav1.NewFieldsV1(fields),
		}},
	}, created.Time
}

func namespaceOf(i int) string {
	return fmt.Sprintf("%s-%03d", team(i/PodsPerNamespace), i/PodsPerNamespace)
}

// ConfigMap makes config map number i: about 1 KB of JSON.
func ConfigMap(cfg Config, i int) *corev1.ConfigMap {
	meta, _ := smallMeta(cfg, i, "config", namespaceOf(i), "helm",
		`{"f:data":{".":{},"f:log.level":{},"f:server.properties":{}},"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},"f:team":{}}}}`)
	return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{
		"log.level": "info",
		"server.properties": fmt.Sprintf("listen=0.0.0.0:8080\nupstream=tcp://%s.%s.svc.cluster.local:5432\npool.size=%d\ntimeout=30s\n",
			meta.Name, meta.Namespace, 8+i%32),
	}}
}

// Lease makes the lease of node number i: less than 1 KB of JSON.
func Lease(cfg Config, i int) *coordinationv1.Lease {
	meta, created := smallMeta(cfg, i, "node", "kube-node-lease", "kubelet",
		`{"f:metadata":{"f:ownerReferences":{".":{},"k:{\"uid\":\"\"}":{}}},"f:spec":{"f:holderIdentity":{},"f:leaseDurationSeconds":{},"f:renewTime":{}}}`)
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: meta.Name, UID: meta.UID}}
	seconds, renewed := int32(40), metav1.NewMicroTime(created.Add(time.Duration(i)*time.Millisecond))
	return &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &meta.Name, LeaseDurationSeconds: &seconds, RenewTime: &renewed,
	}}
}

// Certificate makes custom object number i, of a type that has no Go type:
// about 2 KB of JSON, with numbers, lists and conditions.
func Certificate(cfg Config, i int) *unstructured.Unstructured {
	meta, created := smallMeta(cfg, i, "tls", namespaceOf(i), "controller",
		`{"f:spec":{"f:dnsNames":{},"f:issuerRef":{}},"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}},"f:notAfter":{},"f:revision":{}}}`)
	at := func(d time.Duration) string { return created.Add(d).Format(time.RFC3339) }
	condition := func(kind, reason string) any {
		return map[string]any{
			"type": kind, "status": "True", "reason": reason, "observedGeneration": int64(1 + i%3),
			"message": "Certificate is up to date and has not expired", "lastTransitionTime": at(time.Minute),
		}
	}
	made := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"secretName": meta.Name, "duration": "2160h0m0s", "renewBefore": "360h0m0s",
			"dnsNames":   []any{meta.Name + ".example.com", meta.Name + "." + meta.Namespace + ".svc"},
			"issuerRef":  map[string]any{"group": "certificates.example.com", "kind": "ClusterIssuer", "name": "internal"},
			"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
			"usages":     []any{"digital signature", "key encipherment", "server auth"},
		},
		"status": map[string]any{
			"conditions": []any{condition("Ready", "Ready"), condition("Issuing", "Renewing")},
			"notBefore":  at(0), "notAfter": at(2160 * time.Hour), "renewalTime": at(1800 * time.Hour),
			"revision": int64(1 + i%9), "load": 0.25,
		},
	}}
	made.SetAPIVersion("certificates.example.com/v1")
	made.SetKind("Certificate")
	made.SetName(meta.Name)
	made.SetNamespace(meta.Namespace)
	made.SetUID(meta.UID)
	made.SetResourceVersion(meta.ResourceVersion)
	made.SetCreationTimestamp(meta.CreationTimestamp)
	made.SetLabels(meta.Labels)
	made.SetManagedFields(meta.ManagedFields)
	return made
}
