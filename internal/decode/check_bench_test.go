// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

// BenchmarkChecks reports by how much the checks of parts slow down the decoding of pods, as a
// median of rounds. It measures the time with all parts checked, and divides the difference by
// 1024.
func BenchmarkChecks(b *testing.B) {
	for _, d := range []format{inJSON, inProtobuf, inDocuments} {
		var list [][]byte
		for _, pod := range pods(b, benchPods) {
			list = append(list, d.pod(b, string(pod)))
		}
		b.Run(d.name, func(b *testing.B) { comparesChecks(b, list, d.ours(b, podType)) })
	}
}

// comparesChecks decodes all pods with the usual checks, and with all parts checked.
func comparesChecks(b *testing.B, list [][]byte, decode decoder) {
	const times = 10
	o := Options{Intern: NewIntern(16 << 20), Share: NewSharing(NewParts(64 << 20))}
	store := make([]any, len(list)) // like that of an informer, so that the garbage collector visits the objects
	each := func(all bool) float64 {
		o.Checks = all
		before, err := cputime.Used()
		require.NoError(b, err)
		for n := range times * benchPods {
			object, err := decode(list[n%benchPods], o)
			if err != nil {
				b.Fatal(err)
			}
			store[n%benchPods] = object
		}
		after, err := cputime.Used()
		require.NoError(b, err)
		return float64(after-before) / (times * benchPods)
	}
	each(false) // fill the tables
	var usual, every []float64
	for b.Loop() {
		usual = append(usual, each(false))
		every = append(every, 100*(each(true)/usual[len(usual)-1]-1)/oftenChecked)
	}
	b.ReportMetric(median(usual), "cpu-ns/pod")
	b.ReportMetric(median(every), "%more-by-all")
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// pods returns n pods of 9 KB that differ as the pods of a few deployments do.
func pods(t testing.TB, n int) [][]byte {
	text := string(readFile(t, "testdata/pod.json"))
	list := make([][]byte, n)
	for i := range list {
		pod, set := fmt.Sprintf("%05x", i), fmt.Sprintf("9e%06x", i/50)
		list[i] = []byte(strings.NewReplacer(
			"00032", pod, "9e3817e8", set, "06dc122c", fmt.Sprintf("%08x", i*7919), "100050", fmt.Sprint(100050+i),
			"08:00:50", fmt.Sprintf("08:%02d:%02d", i/60%60, i%60), "catalogue-worker-1", fmt.Sprint("catalogue-worker-", i/50),
			"1a11db81", fmt.Sprintf("%08x", i), "10.126.4.206", fmt.Sprintf("10.126.%d.%d", i/250, i%250),
		).Replace(text))
	}
	return list
}

const benchPods = 1000
