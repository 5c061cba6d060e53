// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// An administrator is told of every part. Where the policies are not bound, the dry run shows it.
func TestTheDoctorLooksAtTheInstallation(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns, bare := newNamespace(ctx, t), newNamespace(ctx, t, withoutChecks, "true", withoutStamping, "true")
	config := kubeconfig(t, ns)
	does := func(namespace string) (int, string) {
		t.Helper()
		var o, e strings.Builder
		code := plugIn(t, verb.Streams{Out: &o, Err: &e}, "doctor", "--kubeconfig", config, "-n", namespace, "--operator-namespace", ns)
		return code, o.String() + e.String()
	}
	code, out := does(ns)
	for _, line := range []string{
		"ok        API server ", "ok        kinds                    motorcortex.dev/v1alpha1 has all fields that this plugin knows", "ok        admission in effect ",
		"failed    operator                 there is no Deployment motorcortex-manager in the namespace " + ns, "warning   model ", "warning   isolation ", "ok        you may approve skills ",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("there is no %q in\n%s", line, out)
		}
	}
	if code != verb.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	labels := map[string]string{"app": "manager"}
	d := &appsv1.Deployment{ObjectMeta: meta(ns, "motorcortex-manager"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager:v1"}}}},
	}}
	must(t, admin.Create(ctx, d))
	before := d.DeepCopy()
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
	must(t, admin.Status().Patch(ctx, d, client.MergeFrom(before)))
	if _, out := does(ns); !strings.Contains(out, "ok        operator                 1 of 1 replicas are ready, of the image manager:v1") {
		t.Errorf("with a Deployment:\n%s", out)
	}
	if code, out := does(bare); code != verb.ExitFailed || !strings.Contains(out, "failed    admission in effect ") {
		t.Errorf("without policies: %d\n%s", code, out)
	}
}

// A person with few rights is told which are missing: nothing failed, and it is unknown how it stands.
func TestTheDoctorOfAPersonWithFewRights(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	dana := sitsIn(ctx, t, ns, "dana@"+ns, mayRespond)
	dana.want(5, "doctor", "ok        you                      dana@"+ns, "unknown   operator                 you lack the right to get deployments.apps motorcortex-manager in the namespace motorcortex-system",
		"unknown   admission policies ", "unknown   admission in effect      you lack the right to create motorruns.motorcortex.dev in the namespace "+ns,
		"ok        you may answer runs ", "warning   you may start runs ", "ClusterRole motorcortex-editor", " 0 failed, ")
}
