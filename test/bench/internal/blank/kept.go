// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import "github.com/kinformer/cache/test/bench/internal/world"

// AgentFields are what a network agent reads of pods, besides their metadata.
var AgentFields = []string{
	"spec.nodeName", "spec.hostNetwork", "spec.serviceAccountName", "spec.containers.ports", "status.phase", "status.hostIP", "status.podIPs",
}

var keptFields = [world.Resources][]string{
	world.Leases: {"spec"}, // its seven fields
	world.Pods: {
		"spec.nodeName", "spec.hostNetwork", "spec.serviceAccountName", "spec.priorityClassName", "spec.terminationGracePeriodSeconds",
		"spec.containers.ports", "status.phase", "status.hostIP", "status.podIPs", "status.startTime",
	},
	world.Slices: {
		"addressType", "ports", "endpoints.addresses", "endpoints.conditions", "endpoints.nodeName", "endpoints.zone", "endpoints.hints",
		"endpoints.targetRef.kind", "endpoints.targetRef.namespace", "endpoints.targetRef.name",
	},
	world.Events: {
		"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "type", "reason", "message", "count",
		"firstTimestamp", "lastTimestamp",
	},
	world.ReplicaSets: {
		"spec.replicas", "spec.minReadySeconds", "spec.selector", "spec.template.metadata.labels", "status.replicas", "status.readyReplicas",
		"status.availableReplicas", "status.fullyLabeledReplicas", "status.observedGeneration", "status.conditions",
	},
	world.Nodes: {
		"spec.podCIDRs", "spec.providerID", "spec.unschedulable", "spec.taints", "status.addresses", "status.allocatable", "status.capacity",
		"status.conditions.type", "status.conditions.status", "status.nodeInfo.kubeletVersion",
	},
}

// Kept returns the paths of what a manager may read of a resource's objects besides their metadata: ten fields, or the
// seven of a lease, and DueAnnotation, by which latencies are measured.
func Kept(of world.Resource) []string {
	return append([]string{"metadata.annotations[" + DueAnnotation + "]"}, keptFields[of]...)
}
