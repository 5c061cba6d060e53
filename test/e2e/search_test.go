// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/scripts"
)

// searchNamespace makes a namespace whose runs ask the scripted model, and search as the sample of a MotorCortex says, but at a
// stand-in for SearXNG that runs there too.
func searchNamespace(t *testing.T, purpose string, change ...func(*v1alpha1.SearchProvider)) string {
	t.Helper()
	ns := newNamespace(t, purpose)
	var cortex v1alpha1.MotorCortex
	readSample(t, "motorcortex", &cortex)
	cortex.Namespace = ns
	cortex.Spec.Models = v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "scripted/search", BaseURL: modelURL(modelServer)}}
	cortex.Spec.Search.URL = startSearXNG(t, ns)
	for _, c := range change {
		c(cortex.Spec.Search)
	}
	must(t, suite.client.Create(t.Context(), &cortex))
	return ns
}

// startSearXNG starts the stand-in and gives its URL: the Pod's own address, which needs no Service to know it yet.
func startSearXNG(t *testing.T, namespace string) string {
	t.Helper()
	const port = "8080"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "searxng"},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: new(int64(0)),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "searxng", Image: suite.sandboxImage, ImagePullPolicy: corev1.PullIfNotPresent,
				Command: []string{"python3", "-c", scripts.SearXNG, port},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, FailureThreshold: 60, ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.Parse(port)},
				}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
	must(t, suite.client.Create(t.Context(), pod))
	key := client.ObjectKeyFromObject(pod)
	err := await(t.Context(), soon, &corev1.PodList{}, one(key), func(ctx context.Context) (bool, error) {
		err := suite.client.Get(ctx, key, pod)
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}), err
	})
	if err != nil {
		t.Fatalf("the search provider does not start: %v: %+v", err, pod.Status)
	}
	return "http://" + net.JoinHostPort(pod.Status.PodIP, port)
}

func TestSampleSearch(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startSample(t, "search", inNamespace(searchNamespace(t, "search"))), soon)
	if got, want := done.Status.Result.Summary, "About release history of Go, https://example.org/about"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
	found := wantWholeJournal(t, done)[0].Status.Results[0]
	if !found.OK || found.Provenance != string(toolapi.ProvenanceWeb) || strings.Contains(found.Output, "<b>") || strings.Contains(found.Output, "javascript:") {
		t.Errorf("a search gave %+v", found)
	}
}

func TestNoSearchIsOfferedWithoutAProvider(t *testing.T) {
	t.Parallel()
	done := wantCompleted(t, startSample(t, "search"), soon)
	if got := done.Status.Result.Summary; got != toolapi.ToolAskUser+", "+toolapi.ToolFinish {
		t.Errorf("the model was offered %q", got)
	}
	if r := wantWholeJournal(t, done)[0].Status.Results[0]; r.OK || r.ErrorCode != toolapi.CodeToolNotGranted {
		t.Errorf("a search without a provider gave %+v", r)
	}
}
