// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// podRun returns a run that is at an attempt.
func podRun(attempt int32) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run-uid"}}
	for n := range attempt {
		run.Status.Attempts = append(run.Status.Attempts, v1alpha1.AttemptStatus{Index: n + 1})
	}
	return run
}

// coldPod returns the Pod that was made for an attempt of a run.
func coldPod(run *v1alpha1.MotorRun, attempt int32) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: run.Namespace, Name: sandbox.PodName(run, attempt), UID: types.UID("cold-" + strconv.Itoa(int(attempt))),
		Labels:          map[string]string{v1alpha1.LabelRun: run.Name, v1alpha1.LabelComponent: v1alpha1.ComponentSandbox},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
	}}
}

// pooledPod returns a Pod of that name that was taken from a pool for an attempt of a run.
func pooledPod(run *v1alpha1.MotorRun, attempt int32, name string) *corev1.Pod {
	pod := coldPod(run, attempt)
	pod.Name, pod.UID = name, types.UID(name)
	pod.Annotations = map[string]string{v1alpha1.AnnotationPool: "pool", v1alpha1.AnnotationAttempt: strconv.Itoa(int(attempt))}
	return pod
}

// podsByName names Pods in these tests: "2" is the one that was made for the second attempt, and "a2" one that was taken for it.
func podsByName(run *v1alpha1.MotorRun, names string) []*corev1.Pod {
	var pods []*corev1.Pod
	for name := range strings.FieldsSeq(names) {
		attempt := int32(name[len(name)-1] - '0')
		if len(name) == 1 {
			// The name of a Pod of a later attempt is not known to a run that was read before.
			pods = append(pods, coldPod(run, attempt))
			continue
		}
		pods = append(pods, pooledPod(run, attempt, name))
	}
	return pods
}

// nameOf returns the name of a Pod in these tests.
func nameOf(run *v1alpha1.MotorRun, pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	for n := range int32(9) {
		if pod.Name == sandbox.PodName(run, n+1) {
			return strconv.Itoa(int(n + 1))
		}
	}
	return pod.Name
}

// A status that was lost is found again with the last Pod, for its workspace. A Pod that is to be replaced is not used again.
func TestTheSandboxOfARunWhoseStatusNamesNone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		attempt  int32
		replaced bool
		pods     string
		want     string
	}{
		"no Pod":                                         {1, false, "", ""},
		"made for the attempt":                           {1, false, "1", "1"},
		"taken for the attempt":                          {1, false, "a1", "a1"},
		"the status was lost after two attempts":         {2, false, "1 a2", "a2"},
		"the status was lost, the Pod is an older":       {3, false, "a1 2", "2"},
		"the status was lost, an older one is left":      {3, false, "a1", "a1"},
		"replaced, and the new one is made":              {2, true, "1 2", "2"},
		"replaced, and the new one is taken":             {2, true, "a1 b2", "b2"},
		"replaced, and there is no new one":              {2, true, "1", ""},
		"replaced, and there is none of a pool":          {2, true, "a1", ""},
		"an attempt that the run does not know yet":      {1, false, "1 a2", "1"},
		"only of an attempt that it does not know":       {1, false, "a2", ""},
		"only made for one that it does not know":        {1, false, "2", ""},
		"replaced in an attempt that it knows not":       {2, true, "1 a3", ""},
		"two of the same attempt":                        {1, false, "a1 b1", "b1"},
		"two of the same attempt, one made":              {2, true, "1 2 a2", "a2"},
		"the status was lost with a number that is none": {2, false, "a0", ""},
	} {
		run := podRun(tt.attempt)
		if tt.replaced {
			run.Status.Sandbox = &v1alpha1.SandboxStatus{}
		}
		if got := nameOf(run, unnamed(podsByName(run, tt.pods), run)); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// The Pods of former attempts must go. No other one may: the run may have been read before a later attempt began.
func TestThePodsOfFormerAttempts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		attempt int32
		pods    string
		// named is the Pod that the run has or is to get.
		named, current, former, strays string
	}{
		"no Pod":                               {1, "", "1", "", "", ""},
		"made for the attempt":                 {1, "1", "1", "1", "", ""},
		"taken for the attempt":                {1, "a1", "a1", "a1", "", ""},
		"the former one was made":              {2, "1 2", "2", "2", "1", ""},
		"the former one was taken":             {2, "a1 2", "2", "2", "a1", ""},
		"both were taken":                      {2, "a1 b2", "b2", "b2", "a1", ""},
		"the next one is not there yet":        {2, "a1", "2", "", "a1", ""},
		"the former one is kept":               {2, "1", "1", "1", "", ""},
		"the former one, taken, is kept":       {2, "a1", "a1", "a1", "", ""},
		"all former ones":                      {4, "1 a2 3 b4", "b4", "b4", "1 a2 3", ""},
		"an attempt that it does not know yet": {1, "1 a2", "1", "1", "", ""},
		"a taken one, and one it knows not":    {1, "a1 2", "a1", "a1", "", ""},
		"the named one is gone from the cache": {2, "1 a2", "gone", "", "", "a2"},
		"two of the same attempt":              {2, "1 2 a2", "2", "2", "1", "a2"},
		"two of the same attempt, taken":       {2, "a1 b1 c2 d2", "c2", "c2", "a1 b1", "d2"},
		"a number that is none":                {2, "a0 2", "2", "2", "", ""},
	} {
		run := podRun(tt.attempt)
		named := tt.named
		if len(named) == 1 {
			named = sandbox.PodName(run, int32(named[0]-'0'))
		}
		current, former, strays := split(podsByName(run, tt.pods), run, named)
		names := func(pods []*corev1.Pod) string {
			var list []string
			for _, p := range pods {
				list = append(list, nameOf(run, p))
			}
			return strings.Join(list, " ")
		}
		if nameOf(run, current) != tt.current || names(former) != tt.former || names(strays) != tt.strays {
			t.Errorf("%s: %q after %q beside %q, want %q after %q beside %q",
				name, nameOf(run, current), names(former), names(strays), tt.current, tt.former, tt.strays)
		}
	}
}

// The Pods that belong to a run count, whatever their labels are, in the order of their attempts.
func TestPodsOfARun(t *testing.T) {
	t.Parallel()
	run := podRun(10)
	foreign, former, elsewhere, other := pooledPod(run, 1, "foreign"), pooledPod(run, 1, "former"), pooledPod(run, 1, "elsewhere"), pooledPod(run, 1, "other")
	foreign.OwnerReferences, elsewhere.Namespace = nil, "other"
	former.OwnerReferences[0].UID = "former-uid"
	other.Labels[v1alpha1.LabelRun], other.OwnerReferences[0].Name = "other", "other"
	objects := []client.Object{foreign, former, elsewhere, other}
	for _, pod := range podsByName(run, "b2 3 a2 1 z4") {
		objects = append(objects, pod)
	}
	// One that keeps the labels of its pool.
	tenth := pooledPod(run, 10, "b10")
	delete(tenth.Labels, v1alpha1.LabelRun)
	tenth.Labels[v1alpha1.LabelPool] = "pool"
	objects = append(objects, tenth)
	for name, indexes := range map[string]bool{"by index": true, "without": false} {
		builder, _ := countingRuns(t, retentionScheme(t))
		r := &Reconciler{Client: builder.WithObjects(objects...).Build(), indexes: indexes}
		pods, err := r.podsOf(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range pods {
			names = append(names, nameOf(run, p))
		}
		if got := strings.Join(names, " "); got != "1 a2 b2 3 z4 b10" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A run is looked at for the changes of its Pod that it shows or decides by, and for no other report of the node.
func TestChangesOfAPodThatItsRunIsLookedAtFor(t *testing.T) {
	t.Parallel()
	running := func() *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "1", Labels: map[string]string{"a": "b"}, ResourceVersion: "1"}}
		pod.Spec.NodeName = "node"
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}, HostIP: "192.0.2.1",
			ContainerStatuses: []corev1.ContainerStatus{{Name: sandbox.ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		}
		return pod
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()})
		}
	}
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing but the version":      {func(p *corev1.Pod) { p.ResourceVersion = "2" }, false},
		"the node's own observation":   {func(p *corev1.Pod) { p.Status.ObservedGeneration = 2 }, false},
		"it has passed its probes":     {condition(corev1.PodReady, corev1.ConditionTrue), false},
		"its volumes are there":        {condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue), false},
		"a node has it":                {condition(corev1.PodScheduled, corev1.ConditionTrue), true},
		"which node has it":            {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, true},
		"another address":              {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.2" }, true},
		"a further address":            {func(p *corev1.Pod) { p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: "fd00::1"}) }, true},
		"the address of its node":      {func(p *corev1.Pod) { p.Status.HostIP = "192.0.2.2" }, true},
		"it ends":                      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"its tool server ended":        {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 9 }, true},
		"it is being deleted":          {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"it was taken from a pool":     {func(p *corev1.Pod) { p.Labels = nil }, true},
		"it was taken from its run":    {func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Name: "other"}} }, true},
		"another image":                {func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Image: "other"}} }, true},
		"another Pod of the same name": {func(p *corev1.Pod) { p.UID = "2" }, true},
	} {
		after := running()
		tt.change(after)
		if got := changesSandbox().Update(event.UpdateEvent{ObjectOld: running(), ObjectNew: after}); got != tt.want {
			t.Errorf("%s: looked at is %t", name, got)
		}
	}
}
