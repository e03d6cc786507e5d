// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import "github.com/kinformer/cache/internal/door"

// Decoding says how an informer decodes what the server sends. If that comes through a transport of
// package direct, the informer decodes it itself, straight into the Go type, at a fraction of the
// cost of client-go's decoders. Without such a transport Decoding has no effect, except for Drop.
// KINFORMER_DIRECT=off in the environment turns direct decoding off for the process.
// inspect.Status.Decoding says whether it is on, and why not.
type Decoding struct {
	// Off leaves all decoding to the client.
	Off bool
	// ReadAhead is how many bytes of a list may wait to be decoded in the first 20 s, unless its
	// request has a deadline: see docs/direct.md. 0 means 32 MiB.
	ReadAhead int64
	// Verify makes the client also decode one object in so many, beside others that docs/direct.md
	// names, for comparison. If the two differ, the informer leaves all decoding to the client for
	// good, and lists again; handlers are called for what that corrects. 0 means 4096.
	Verify int64
	// ShareParts has the objects of informers share equal maps, lists and structs behind pointers, as
	// most of the pods of a replica set have. It saves the most memory and CPU time. Without it they
	// share strings only, such as those of labels and names, to which nobody can write.
	//
	// Two parts are equal if the server wrote them with the same bytes. A write to such a part of one
	// object changes other objects, and races with their readers. So this is for programs that keep
	// the rule of all informers: never write to a cached object. The informer checks about one in a
	// thousand of the shared parts, and inspect.Sharing tells of those that were written to; the
	// mutation detector (KUBE_CACHE_MUTATION_DETECTOR), for tests, finds all. A shared list has no
	// more capacity than elements, so append copies it. Data of Secrets is never shared.
	//
	// An informer without a transform function also takes from the cached version of an object, in
	// protobuf, what an update has not changed; and keeps the cached object if a relist brings the
	// same bytes. The old and the new object of that update are the cached one. Objects of less than
	// 1 KiB are decoded each time. Relist and repairs replace all objects.
	ShareParts bool
	// TransformCopies promises that the transform function changes only fields of an object's
	// topmost struct, or keys of its topmost map, and copies what is below before it changes that.
	// Without the promise, an informer with a transform function decodes as without ShareParts, and says so
	// once in the log, on the page and in a metric. The functions of package trim are known to keep it, as is
	// controller-runtime's TransformStripManagedFields for objects that are not unstructured. To leave out
	// managed fields, Drop needs no promise.
	TransformCopies bool
	// Drop lists what is left out of all objects: "metadata.managedFields", and
	// "metadata.annotations[KEY]" for a key such as
	// kubectl.kubernetes.io/last-applied-configuration. Transform functions do not see it either.
	// Drop concerns the objects' own metadata, not that of templates in them. The informer removes
	// it from the objects that it receives, also without a transport of package direct. If no other
	// annotation remains, the map is nil. See package trim, too.
	Drop []string
}

func (d *Decoding) set(c *door.Config) {
	o, bad := &c.Requests.Decoding, &c.Bad
	o.Off, o.Ahead, o.Verify = d.Off, d.ReadAhead, d.Verify
	o.Share, o.Remember = d.ShareParts, d.ShareParts
	c.TransformCopies = d.TransformCopies
	refuseNegative(bad, "Decoding.ReadAhead", d.ReadAhead, "the default")
	refuseNegative(bad, "Decoding.Verify", d.Verify, "the default")
	for _, path := range o.DropOf(d.Drop) {
		bad.Add(`Decoding.Drop: %q cannot be left out: use "metadata.managedFields", or "metadata.annotations[KEY]" for a KEY other than k8s.io/initial-events-end`, path)
	}
}
