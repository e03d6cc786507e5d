// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package taptest

import (
	"bytes"
	"encoding/binary"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// envelope is the beginning of Kubernetes' protobuf.
const envelope = "k8s\x00"

// Broken returns an encoded pod that no decoder can read, because its spec has a value of another type.
func Broken(pod *v1.Pod, media string) []byte {
	data := Encoded(pod, media)
	if media == runtime.ContentTypeJSON {
		return bytes.Replace(data, []byte(`"spec":{`), []byte(`"spec":{"restartPolicy":5,`), 1)
	}
	u := open(data)
	u.Raw = append(u.Raw, 2<<3, 1) // a number as the field spec
	return seal(u)
}

// PodList returns the encoded list of encoded pods.
func PodList(about metav1.ListMeta, pods [][]byte, media string) []byte {
	list := Encoded(&v1.PodList{ListMeta: about}, media)
	if media == runtime.ContentTypeJSON {
		all := append(append([]byte(`"items":[`), bytes.Join(pods, []byte(","))...), ']')
		return bytes.Replace(list, []byte(`"items":null`), all, 1)
	}
	u := open(list)
	for _, pod := range pods {
		item := open(pod).Raw
		u.Raw = append(binary.AppendUvarint(append(u.Raw, 2<<3|2), uint64(len(item))), item...)
	}
	return seal(u)
}

func open(data []byte) (u runtime.Unknown) {
	if err := u.Unmarshal(data[len(envelope):]); err != nil {
		panic(err)
	}
	return u
}

func seal(u runtime.Unknown) []byte {
	data, err := u.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte(envelope), data...)
}
