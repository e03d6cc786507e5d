// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

// PassListed transforms the object of a record of a full list, if there is a transform function. The key
// must have been read. kept reports that the object is left out because of err, which was reported, and
// that the list goes on: a cached version of the object must stay.
func (r *Reader) PassListed(rec *Record) (kept bool, err error) {
	err = r.pass(rec, listed)
	if kept = err != nil && r.Transform.keeps(err); kept {
		ReportTo(r.Logger, Redacted(err), "Object of a list keeps its cached version: "+refusalOf(err), "key", rec.Key)
	}
	return kept, err
}

// ReportLost reports a deletion for which Complete returned an error.
func (r *Reader) ReportLost(rec *Record, err error) {
	ReportTo(r.Logger, Redacted(err), "Object deleted without its last state: "+refusalOf(err), "key", rec.Key)
}

// refusalOf describes the error of a record that was refused.
func refusalOf(err error) string {
	if isUndecodable(err) {
		return "it cannot be decoded"
	}
	return "transform failed"
}
