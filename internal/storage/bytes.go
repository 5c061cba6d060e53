// SPDX-License-Identifier: Apache-2.0

// Package storage counts the bytes that the runs of a namespace keep in the cluster, and says what follows from their number. Runs, steps and
// artifacts are in etcd, which all of the cluster shares and which refuses every write when it is full.
package storage

import (
	"crypto/rand"
	"encoding/json"
	"strconv"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// annotation has the size of an object in its head in the cache. It is another one in each process, so that no client can write it into an object.
var annotation = "motorcortex.dev/stored-bytes-" + rand.Text()

// configMapBytes is the size of a ConfigMap with an artifact beside the artifact itself: its names, labels and managed fields.
const configMapBytes = 1 << 10

// Note writes the size of a run or a step into its head: the object that the cache retains lacks the long parts.
func Note(head metav1.Object, bytes int64) {
	all := head.GetAnnotations()
	if all == nil {
		all = make(map[string]string, 1)
	}
	all[annotation] = strconv.FormatInt(bytes, 10)
	head.SetAnnotations(all)
}

// Of returns the size of a run or a step: the one that Note wrote, or that of the object itself. It is 0 for any other object.
func Of(o any) int64 {
	m, ok := o.(metav1.Object)
	if !ok {
		return 0
	}
	if noted, err := strconv.ParseInt(m.GetAnnotations()[annotation], 10, 64); err == nil {
		return noted
	}
	switch o := o.(type) {
	case *v1alpha1.MotorRun:
		return OfRun(o)
	case *v1alpha1.MotorStep:
		return OfStep(o)
	}
	return 0
}

// OfStep returns the size of a whole step.
func OfStep(s *v1alpha1.MotorStep) int64 { return encoded(s) }

// OfRun returns the size of a whole run with its artifacts, which are ConfigMaps. It is 0 for a run that has not begun: if runs that wait for room
// took some, they would keep each other waiting for ever.
func OfRun(run *v1alpha1.MotorRun) int64 {
	if !has(run, v1alpha1.ConditionAccepted) && !has(run, v1alpha1.ConditionFinished) {
		return 0
	}
	kept := run.Status.Artifacts
	if run.Status.Result != nil {
		kept = run.Status.Result.Artifacts
	}
	size := encoded(run)
	for i := range kept {
		if kept[i].ConfigMapName != "" {
			size += max(0, kept[i].Size) + configMapBytes
		}
	}
	return size
}

func has(run *v1alpha1.MotorRun, condition string) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, condition)
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// encoded returns the size of an object in JSON, which is how etcd has it. The encoder has its memory from a pool, so that no copy of each object is
// garbage.
func encoded(o any) int64 {
	var size counter
	if err := json.NewEncoder(&size).Encode(o); err != nil {
		// Objects of the API can be encoded. A size of 0 keeps no run from beginning.
		return 0
	}
	return int64(size)
}
