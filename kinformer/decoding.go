// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/cache/internal/door"
)

// Decoding configures how an informer decodes objects from the server. If its client uses a transport
// of package direct, the informer decodes the objects itself, directly into the Go type, at a fraction
// of the cost of client-go's decoders. Otherwise Decoding has no effect, except for Keep and Drop.
// KINFORMER_DIRECT=off (or false, 0 or no, in any case) in the environment turns direct decoding off for
// the process. inspect.Status.Decoding states whether direct decoding is on, and if not, why.
type Decoding struct {
	// Off leaves all decoding to the client. Only Keep, with Whole and PartialWrites, and Drop may be set beside
	// it: the other fields would have no effect, and are refused.
	Off bool
	// ReadAhead is the maximum number of bytes of a list that wait to be decoded during the first 20 s,
	// unless the request of the list has a deadline: see docs/direct.md. 0 means 32 MiB.
	ReadAhead int64
	// Verify makes the client decode one of every Verify objects as well, besides the objects that
	// docs/direct.md names, and compares the results. If they differ, the informer leaves all further
	// decoding to the client and lists again; handlers are called for the corrections. 0 means 4096.
	Verify int64
	// ShareParts makes the objects of informers share equal maps, lists and structs behind pointers,
	// for instance those of the pods of a replica set. It saves the most memory and CPU time. Without
	// it, objects share only strings, such as labels and names, which cannot be modified. If the program
	// does not import package direct, or the client uses no transport of it, nothing is shared, and the
	// informer reports this once in the log, on the page and in a metric.
	//
	// Two parts are equal if the server encoded them with the same bytes. A write to a shared part of
	// one object changes other objects and races with their readers. Set ShareParts only in programs
	// that never write to a cached object, which all informers require. The informer checks about one
	// in a thousand of the shared parts, and inspect.Sharing reports those that were modified; the
	// mutation detector (KUBE_CACHE_MUTATION_DETECTOR), for tests, finds all of them in objects that have
	// changed, or were part of a resync, within two minutes. The capacity of a shared list is its length,
	// so append copies it. Data of Secrets is never shared.
	//
	// An informer without a transform function also reuses the unchanged parts of the cached version of
	// an object when it decodes an update in protobuf, and keeps the cached object if a relist returns
	// the same bytes. That update has the cached object as both its old and its new object. Objects of
	// less than 1 KiB are always decoded. Relist and repairs replace all objects.
	ShareParts bool
	// TransformCopies promises that the transform function changes only fields of an object's topmost
	// struct, or keys of its topmost map, and copies anything below before changing it. Without the
	// promise, an informer with a transform function decodes as without ShareParts, and reports this
	// once in the log, on the page and in a metric. TrimManagedFields and TrimAnnotations need no promise,
	// and neither does controller-runtime's TransformStripManagedFields for objects that are not
	// unstructured. To remove managed fields, use Drop, which needs no promise either.
	TransformCopies bool
	// Keep lists the fields that objects have, by paths of JSON names; the others are not decoded, and cost neither
	// memory nor CPU time. Nil keeps all fields, and an empty list only the metadata:
	//
	//	Keep: []string{"spec.nodeName", "spec.containers.ports", "status.podIPs", "metadata.annotations[example.com/x]"}
	//
	// A path may name a scalar, a struct, a map or a list, which is kept whole; a field of the elements of a list; a
	// key of a map, in brackets; and of an embedded struct its fields, as in "spec.volumes.configMap". All of
	// metadata is kept but annotations and managedFields, which are kept by name. In unstructured objects ".x" and
	// "[x]" are the same, and a path that names nothing keeps nothing; for others it is refused. The informer
	// removes the fields also from objects that the client decodes. Drop comes after Keep, and then the transform.
	//
	// A partial object must not be written to the server. docs/keep.md says how the transport of package direct
	// refuses that, and what it cannot see.
	Keep []string
	// Whole selects the objects that have all their fields although Keep is set, by their labels. With a version
	// that begins or ceases to match, an object changes its form, and handlers are called for an update.
	Whole labels.Selector
	// PartialWrites allows a PUT of objects without managedFields, although the informer has them in part. It is
	// for programs that never write objects of the informer, or whose client removes managedFields. Keep may then
	// name "metadata.managedFields".
	PartialWrites bool
	// Drop lists the fields that are removed from all objects: "metadata.managedFields", and
	// "metadata.annotations[KEY]" for a key such as kubectl.kubernetes.io/last-applied-configuration.
	// Transform functions do not see them either. Drop applies to the metadata of the objects
	// themselves, not to that of templates in them. The informer removes the fields from the objects
	// that it receives, also without a transport of package direct. If no other annotation remains, the
	// map is nil. See also TrimManagedFields.
	Drop []string
}

func (d *Decoding) set(c *door.Config) {
	o, bad := &c.Requests.Decoding, &c.Bad
	o.Off, o.Ahead, o.Verify = d.Off, d.ReadAhead, d.Verify
	o.Share, o.Remember = d.ShareParts, d.ShareParts
	c.TransformCopies = d.TransformCopies
	refuseNegative(bad, "Decoding.ReadAhead", d.ReadAhead, "the default")
	refuseNegative(bad, "Decoding.Verify", d.Verify, "the default")
	d.refuseBesideOff(bad)
	for _, path := range o.DropOf(d.Drop) {
		bad.Add(`Decoding.Drop: %q cannot be left out: use "metadata.managedFields", or "metadata.annotations[KEY]" for a KEY other than k8s.io/initial-events-end`, path)
	}
}

// refuseBesideOff adds a fault for each field that has no effect because the client decodes.
func (d *Decoding) refuseBesideOff(bad *door.Faults) {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"ReadAhead", d.ReadAhead > 0}, {"Verify", d.Verify > 0},
		{"ShareParts", d.ShareParts}, {"TransformCopies", d.TransformCopies},
	} {
		if d.Off && field.set {
			bad.Add("Decoding.%s is for objects that the informer decodes, and with Decoding.Off the client decodes all: leave out one of them", field.name)
		}
	}
}
