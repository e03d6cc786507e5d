// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

const (
	// patience bounds the time in which a phase converges. It is several times that of the slowest.
	patience = 10 * time.Minute
	// calm is how long the state must then remain. Caches of restarted programs fill meanwhile.
	calm = 5 * time.Second
	// outage is the duration of the API server's outage.
	outage = 12 * time.Second
	// failures is the maximum number of failing nodes.
	failures = 5
)

// run is one run of the scenario by one variant.
type run struct {
	*cluster
	options  options
	kubelets *kubelets
	want     *want
	random   *rand.Rand
	say      func(format string, args ...any)
	figures  figures
}

// scenario runs a variant and returns its figures.
func scenario(ctx context.Context, o options, v variant, round int, say func(string, ...any)) (f figures, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dir := filepath.Join(o.bin, "run", fmt.Sprintf("%s-%d", v.name, round))
	c, err := newCluster(o.bin, dir, v)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	r := &run{cluster: c, options: o, kubelets: newKubelets(c.client), want: &want{}, random: rand.New(rand.NewPCG(o.seed, 0)), say: say}
	for _, phase := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"start", r.startAll}, {"create", r.create}, {"roll", r.roll}, {"scale", r.scale}, {"nodes fail", r.failNodes}, {"delete", r.delete},
		{"delete a namespace", r.deleteNamespace}, {"cold start", r.coldStart}, {"outage", r.loseServer},
	} {
		if err := r.phase(ctx, phase.name, phase.do); err != nil {
			return f, fmt.Errorf("phase %q: %w\nlogs are in %s", phase.name, err, dir)
		}
	}
	err = r.addTotals(ctx)
	return r.figures, err
}

// phase runs a phase, waits until the state is as wanted, checks that it remains so, and adds figures.
func (r *run) phase(ctx context.Context, phase string, do func(context.Context) error) error {
	began, before := time.Now(), r.use()
	if err := do(ctx); err != nil {
		return err
	}
	if err := r.converge(ctx); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	sleep(ctx, calm)
	if err := r.converge(ctx); err != nil {
		return err
	}
	r.say("%s: %.0f s", phase, took)
	r.figures.add("time, s", phase, 1, took)
	for i, after := range r.use() {
		name := r.programs()[i].name()
		r.figures.add("CPU of "+name+", s", phase, 2, (after.CPU - before[i].CPU).Seconds())
		r.figures.add("RSS of "+name+", MiB", phase, 0, float64(after.RSS>>20))
	}
	return nil
}

// programs returns the measured programs.
func (r *run) programs() []*program { return []*program{r.manager, r.scheduler, r.server} }

// use returns the usage of the programs, zero for programs that do not run.
func (r *run) use() (all []cputime.Process) {
	for _, p := range r.programs() {
		var u cputime.Process
		if p.ended != nil {
			u, _ = p.use() // converge reports a program that has ended
		}
		all = append(all, u)
	}
	return all
}

// addTotals adds the figures measured once, at the end.
func (r *run) addTotals(ctx context.Context) error {
	all := r.use()
	for i, p := range r.programs()[:2] {
		n, err := p.goroutines(ctx)
		if err != nil {
			return err
		}
		r.figures.add("CPU of "+p.name()+", s", "all", 2, all[i].CPU.Seconds())
		r.figures.add("RSS of "+p.name()+", MiB", "peak", 0, float64(all[i].Peak>>20))
		r.figures.add("goroutines of "+p.name(), "at the end", 0, n)
	}
	return r.addErrors()
}

// converge waits until the state is as wanted.
func (r *run) converge(ctx context.Context) error {
	return await(ctx, time.Second, func(ctx context.Context) error {
		if err := r.check(); err != nil {
			return err
		}
		s, err := read(ctx, r.client)
		if err != nil {
			return err
		}
		if f := s.check(r.want, r.kubelets.alive()); len(f) > 0 {
			slices.Sort(f)
			return fmt.Errorf("%d faults:\n\t%s", len(f), strings.Join(f[:min(10, len(f))], "\n\t"))
		}
		return nil
	})
}

// await calls done at the interval every until it returns nil or errEnded, or until patience is over.
func await(ctx context.Context, every time.Duration, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for {
		err := done(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("not done until the time was over (%w): %w", ctx.Err(), errors.Join(last, err))
		case errors.Is(err, errEnded):
			return err
		}
		last = err
		sleep(ctx, every)
	}
}

// sleep returns after d, or when ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (r *run) startAll(ctx context.Context) error {
	if err := r.cluster.start(ctx); err != nil {
		return err
	}
	go r.kubelets.run(ctx)
	for i := range r.options.nodes {
		if err := r.kubelets.addNode(ctx, fmt.Sprint("node-", i)); err != nil {
			return err
		}
	}
	return nil
}

// roll changes the template of half of the Deployments.
func (r *run) roll(ctx context.Context) error {
	all := names(r.want.deployments, r.random)
	for _, n := range all[:len(all)/2] {
		if err := r.patch(ctx, n, `{"spec":{"template":{"metadata":{"annotations":{"release":"2"}}}}}`); err != nil {
			return err
		}
	}
	return nil
}

// scale first increases half of the Deployments by half, and then halves them.
func (r *run) scale(ctx context.Context) error {
	all := names(r.want.deployments, r.random)
	for _, percent := range []int32{150, 50} {
		for _, n := range all[:len(all)/2] {
			r.want.deployments[n] = max(1, r.want.deployments[n]*percent/100)
			if err := r.patch(ctx, n, fmt.Sprintf(`{"spec":{"replicas":%d}}`, r.want.deployments[n])); err != nil {
				return err
			}
		}
		if err := r.converge(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) patch(ctx context.Context, deployment name, patch string) error {
	_, err := r.client.AppsV1().Deployments(deployment.Namespace).
		Patch(ctx, deployment.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// failNodes makes nodes fail, and deletes them once their pods have been evicted, except for pods of the
// DaemonSet, which stay.
func (r *run) failNodes(ctx context.Context) error {
	failed := r.kubelets.alive()
	slices.Sort(failed)
	r.random.Shuffle(len(failed), func(i, j int) { failed[i], failed[j] = failed[j], failed[i] })
	failed = failed[:min(failures, max(1, len(failed)/10))]
	for _, node := range failed {
		r.kubelets.fail(node)
	}
	err := await(ctx, time.Second, func(ctx context.Context) error {
		pods, err := r.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		for i := 0; err == nil && i < len(pods.Items); i++ {
			p := &pods.Items[i]
			if slices.Contains(failed, p.Spec.NodeName) && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && p.Labels["app"] != r.want.daemonSet.Name {
				err = fmt.Errorf("pod %s on node %s, which has failed, is not evicted", nameOf(p), p.Spec.NodeName)
			}
		}
		return errors.Join(err, r.check())
	})
	for _, node := range failed {
		err = errors.Join(err, r.client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}))
	}
	return err
}

// delete deletes a third of the Deployments, alternately in the foreground and in the background, with
// their Services.
func (r *run) delete(ctx context.Context) error {
	all := names(r.want.deployments, r.random)
	for i, n := range all[:(len(all)+2)/3] {
		how := []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground}[i%2]
		delete(r.want.deployments, n)
		err := errors.Join(r.client.AppsV1().Deployments(n.Namespace).Delete(ctx, n.Name, metav1.DeleteOptions{PropagationPolicy: &how}),
			r.client.CoreV1().Services(n.Namespace).Delete(ctx, n.Name, metav1.DeleteOptions{}))
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) deleteNamespace(ctx context.Context) error {
	delete(r.want.namespaces, doomed)
	for _, m := range []map[name]int32{r.want.deployments, r.want.statefulSets, r.want.jobs} {
		for n := range m {
			if n.Namespace == doomed {
				delete(m, n)
			}
		}
	}
	return r.client.CoreV1().Namespaces().Delete(ctx, doomed, metav1.DeleteOptions{})
}

// coldStart kills the controller manager and the scheduler, and starts them again.
func (r *run) coldStart(ctx context.Context) error {
	if err := errors.Join(r.manager.kill(), r.scheduler.kill()); err != nil {
		return err
	}
	if err := r.startVariant(ctx); err != nil {
		return err
	}
	return r.probe(ctx, "a cold start")
}

// loseServer kills the API server and starts it again later. The first answer ends the outage, even if
// it reports that the server is not ready.
func (r *run) loseServer(ctx context.Context) error {
	if err := r.server.kill(); err != nil {
		return err
	}
	sleep(ctx, outage)
	var status apierrors.APIStatus
	if err := r.startServer(ctx, func(err error) bool { return err == nil || errors.As(err, &status) }); err != nil {
		return err
	}
	return r.probe(ctx, "the outage")
}
