// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// bodyOf is what kubectl motor body prints for programs.
type bodyOf struct {
	Level  v1alpha1.EnergyLevel     `json:"level"`
	Open   []v1alpha1.EnergyOpen    `json:"open"`
	Recent []v1alpha1.EnergySettled `json:"recent"`
}

// The sample of energy, with a body that does not come back by itself until a person lets it.
func TestSampleEnergy(t *testing.T) {
	t.Parallel()
	documents := bytes.Split([]byte(readFile(t, filepath.Join(samples, "body", "energy.yaml"))), []byte("\n---\n"))
	if len(documents) != 5 {
		t.Fatalf("the sample has %d objects", len(documents))
	}
	var sample v1alpha1.MotorCortex
	must(t, yaml.UnmarshalStrict(documents[0], &sample))
	ns := newNamespace(t, "energy")
	spec := *sample.Spec.DeepCopy()
	spec.Models = v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "scripted/hello", BaseURL: modelURL(modelServer)}}
	spec.Energy.RegenerationPerHour = "0"
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v1alpha1.CortexName}, Spec: spec}
	must(t, suite.client.Create(t.Context(), cortex))
	start := func(document []byte) *v1alpha1.MotorRun {
		run := &v1alpha1.MotorRun{}
		must(t, yaml.UnmarshalStrict(document, run))
		run.Namespace = ns
		must(t, suite.client.Create(t.Context(), run))
		watchOver(t, run)
		return run
	}
	for _, document := range documents[1:3] {
		done := wantCompleted(t, start(document), soon)
		if e := done.Status.Energy; e == nil || e.Kind != v1alpha1.EnergyAgentic || e.Consumed != "0.1" || done.Status.Result.Stats.EnergyCost != "0.1" {
			t.Errorf("%s cost %+v", done.Name, e)
		}
	}
	tired := start(documents[3])
	waits := awaitRun(t, tired, soon, "the wait for energy", func(r *v1alpha1.MotorRun) bool {
		return condition(r, v1alpha1.ConditionAccepted).Reason == v1alpha1.ReasonNoEnergy
	})
	if m := waits.Status.Message; !strings.Contains(m, "is 0.2 of 1") || !strings.Contains(m, "needs 0.3") {
		t.Errorf("it says %q", m)
	}
	wantCompleted(t, start(documents[4]), soon)
	awaitSettled(t, ns, 3)
	var body bodyOf
	must(t, json.Unmarshal([]byte(motor(t, "body", "-n", ns, "-o", "json")), &body))
	if body.Level != "0.15" || len(body.Open) != 0 || len(body.Recent) != 3 || body.Recent[0].RunName != "energy-oneshot" {
		t.Errorf("the body is %+v", body)
	}
	if shown := motor(t, "body", "-n", ns); !strings.Contains(shown, "[###.................] 0.15 of 1") || !strings.Contains(shown, "energy-oneshot") {
		t.Errorf("it is shown as\n%s", shown)
	}
	kubectl(t, "-n", ns, "patch", "motorcortex/default", "--type=merge", "-p", `{"spec":{"energy":{"regenerationPerHour":"600"}}}`)
	wantCompleted(t, tired, soon)
}

// awaitSettled waits until so many runs of a namespace are settled and none is open.
func awaitSettled(t *testing.T, namespace string, count int) {
	t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: v1alpha1.CortexName}
	var now v1alpha1.MotorCortex
	err := await(t.Context(), soon, &v1alpha1.MotorCortexList{}, one(key), func(ctx context.Context) (bool, error) {
		now = v1alpha1.MotorCortex{}
		err := suite.client.Get(ctx, key, &now)
		return now.Status.Energy != nil && len(now.Status.Energy.Open) == 0 && len(now.Status.Energy.Recent) == count, err
	})
	if err != nil {
		t.Fatalf("the ledger of %s: %v, %+v", namespace, err, now.Status.Energy)
	}
}
