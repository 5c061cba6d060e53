// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var updateRights = flag.Bool("update-rights", false, "write the list of the operator's rights")

// rightsIn lists the rights of the Roles and ClusterRoles of a file, each as "namespace account verb group/resource name".
func rightsIn(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", filepath.FromSlash(file)))
	must(t, err)
	var list []string
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		// A Role has the fields that matter of a ClusterRole, too.
		role := &rbacv1.ClusterRole{}
		if err := decoder.Decode(role); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		where := map[string]string{"ClusterRole": "*", "Role": role.Namespace}[role.Kind]
		if role.AggregationRule != nil {
			t.Errorf("%s: %s has whatever other roles have", file, role.Name)
		}
		for _, rule := range role.Rules {
			for _, line := range flatten(rule) {
				list = append(list, fmt.Sprintf("%-20s %-24s %s", where, role.Name, line))
			}
		}
	}
}

func flatten(rule rbacv1.PolicyRule) []string {
	var list []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range slices.Concat(rule.ResourceNames, make([]string, 1))[:max(1, len(rule.ResourceNames))] {
					list = append(list, strings.TrimRight(fmt.Sprintf("%-7s %s/%s %s", verb, group, resource, name), " "))
				}
			}
		}
	}
	return list
}

// Every right that the operator's accounts have is in a list that people read. Who adds one adds it there, too.
func TestRightsAreThoseOfTheList(t *testing.T) {
	t.Parallel()
	list := slices.Concat(rightsIn(t, "rbac/role.yaml"), rightsIn(t, "rbac/metrics.yaml"), rightsIn(t, "egressproxy/rbac.yaml"))
	slices.Sort(list)
	got := strings.Join(slices.Compact(list), "\n") + "\n"
	path := filepath.Join("testdata", "rights.golden.txt")
	if *updateRights {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the rights are not those of %s (-list +roles; go test ./test/api -run Rights -update-rights writes it):\n%s", path, diff)
	}
	for _, line := range list {
		if fields := strings.Fields(line); slices.Contains(fields, "*/*") || fields[2] == "*" || strings.HasSuffix(fields[3], "/*") {
			t.Errorf("a right to everything: %s", line)
		}
	}
}

// An installation for named namespaces has the same rights there, but for those on what is not in a namespace of runs.
func TestNamespacedRightsAreTheSame(t *testing.T) {
	t.Parallel()
	// rightsOf drops where a right holds and keeps what it is.
	rightsOf := func(account, where string, files ...string) []string {
		var list []string
		for _, file := range files {
			for _, line := range rightsIn(t, file) {
				fields := strings.Fields(line)
				if where == "" {
					fields = slices.Insert(fields, 0, "")
				}
				if fields[0] == where && fields[1] == account {
					list = append(list, strings.Join(fields[2:], " "))
				}
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	elsewhere := func(right string) bool {
		return strings.Contains(right, " /nodes") || strings.Contains(right, "/servicecidrs") || right == "list /services"
	}
	for account, file := range map[string]string{"motorcortex-manager": "rbac/role.yaml", "motorcortex-egressproxy": "egressproxy/rbac.yaml"} {
		want := slices.DeleteFunc(rightsOf(account, "*", file), elsewhere)
		got := rightsOf(account, "", "namespaced/rights/role.yaml")
		if account == "motorcortex-manager" {
			got = append(got, rightsOf(account, "default", "namespaced/api_server.yaml")...)
			got = append(got, rightsOf(account+"-admission", "*", "namespaced/admission.yaml")...)
			slices.Sort(got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-config/rbac +config/namespaced):\n%s", account, diff)
		}
	}
}

// What the API server itself says of the operator's accounts.
func TestWhatTheAccountsMayDo(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	for user, want := range map[string]map[string]bool{
		managerUser: {
			"create pods": true, "delete pods": true, "get secrets": true, "create secrets": true, "get configmaps": true,
			"patch motorcortex.dev motorruns/status": true, "create motorcortex.dev motorsteps": true, "update networking.k8s.io networkpolicies": true,
			"list secrets": false, "watch secrets": false, "delete secrets": false, "deletecollection secrets": false, "use secrets": false,
			"create configmaps": true, "delete configmaps": true, "deletecollection configmaps": false,
			"update configmaps": false, "patch configmaps": false, "list configmaps": true,
			"create pods/exec": false, "get pods/exec": false, "create pods/attach": false, "get pods/attach": false,
			"create pods/portforward": false, "get pods/portforward": false, "create pods/proxy": false, "get pods/proxy": false, "get pods/log": false,
			"update pods/ephemeralcontainers": false, "patch pods/ephemeralcontainers": false, "update pods": false, "patch pods": true, "patch pods/status": false, "update pods/status": false, "patch pods/resize": false,
			"create pods/binding": false, "create serviceaccounts/token": false, "create serviceaccounts": false,
			"create motorcortex.dev motorruns": true, "update motorcortex.dev motorruns": false, "patch motorcortex.dev motorruns": false,
			"respond motorcortex.dev motorruns": false, "approve motorcortex.dev motorruns": false,
			"create motorcortex.dev skills": true, "update motorcortex.dev skills": false, "patch motorcortex.dev skills": false, "delete motorcortex.dev skills": false,
			"approve motorcortex.dev skills": false, "patch motorcortex.dev skills/status": true,
			"create motorcortex.dev skillrevisions": true, "update motorcortex.dev skillrevisions": false, "deletecollection motorcortex.dev skillrevisions": false,
			"list motorcortex.dev sandboxpools": true, "patch motorcortex.dev sandboxpools/status": true, "update motorcortex.dev sandboxpools/finalizers": true,
			"create motorcortex.dev sandboxpools": false, "update motorcortex.dev sandboxpools": false, "patch motorcortex.dev sandboxpools": false,
			"delete motorcortex.dev sandboxpools": false, "update motorcortex.dev sandboxpools/scale": false, "patch motorcortex.dev sandboxpools/scale": false,
			"create motorcortex.dev motorcortices": false, "update motorcortex.dev motorcortices": false,
			"update motorcortex.dev motorsteps": false, "patch motorcortex.dev motorsteps": false,
			"create rbac.authorization.k8s.io roles": false, "update rbac.authorization.k8s.io roles": false, "escalate rbac.authorization.k8s.io roles": false,
			"create rbac.authorization.k8s.io rolebindings": false, "bind rbac.authorization.k8s.io clusterroles": false,
			"create apps deployments": false, "create apps daemonsets": false, "create batch jobs": false,
		},
		egressProxyUser: {
			"create events.k8s.io events": true,
			"get secrets":                 false, "list secrets": false, "watch secrets": false, "create secrets": false, "update secrets": false, "delete secrets": false,
			"get configmaps": false, "list configmaps": false, "get pods": false, "create pods": false, "create pods/exec": false,
			"patch pods": false, "get motorcortex.dev sandboxpools": false, "patch motorcortex.dev sandboxpools/status": false,
			"get motorcortex.dev motorruns": false, "patch motorcortex.dev motorruns": false, "get motorcortex.dev skills": false, "approve motorcortex.dev skills": false, "update networking.k8s.io networkpolicies": false,
		},
	} {
		for what, allowed := range want {
			if may(ctx, t, user, attributes(ns, what)) != allowed {
				t.Errorf("%s may %s in a namespace: %t, want %t", user, what, !allowed, allowed)
			}
		}
	}
	for what, allowed := range map[string]bool{
		"list secrets": true, "create secrets": true, "delete secrets": true, "create configmaps": true, "update configmaps": true,
		"create rbac.authorization.k8s.io rolebindings": false, "update apps deployments": false, "create pods/exec": false,
	} {
		if may(ctx, t, managerUser, attributes(managerNamespace, what)) != allowed {
			t.Errorf("the manager may %s in its own namespace: %t, want %t", what, !allowed, allowed)
		}
	}
	for _, what := range []string{"create secrets", "update secrets", "patch secrets", "delete secrets", "create configmaps", "update configmaps"} {
		if may(ctx, t, egressProxyUser, attributes(managerNamespace, what)) {
			t.Errorf("the egress proxy may %s in the operator's namespace", what)
		}
	}
	for _, user := range []string{managerUser, egressProxyUser} {
		for _, what := range []string{
			"list secrets", "watch secrets", "impersonate users", "impersonate groups", "impersonate serviceaccounts", "get nodes/proxy", "create nodes/proxy",
			"update nodes", "patch nodes", "update namespaces", "patch namespaces", "create namespaces",
			"create rbac.authorization.k8s.io clusterroles", "update rbac.authorization.k8s.io clusterroles", "create rbac.authorization.k8s.io clusterrolebindings",
			"create certificates.k8s.io certificatesigningrequests", "update certificates.k8s.io certificatesigningrequests/approval",
			"delete admissionregistration.k8s.io validatingadmissionpolicies", "update admissionregistration.k8s.io validatingadmissionpolicybindings",
			"create admissionregistration.k8s.io mutatingwebhookconfigurations", "update apiextensions.k8s.io customresourcedefinitions",
		} {
			if may(ctx, t, user, attributes("", what)) {
				t.Errorf("%s may %s in the whole cluster", user, what)
			}
		}
		// The manager reviews who reads its metrics. The proxy has no such readers.
		for _, what := range []string{"create authorization.k8s.io subjectaccessreviews", "create authentication.k8s.io tokenreviews"} {
			if allowed := user == managerUser; may(ctx, t, user, attributes("", what)) != allowed {
				t.Errorf("%s may %s in the whole cluster: %t, want %t", user, what, !allowed, allowed)
			}
		}
	}
}

// attributes reads "verb resource" or "verb group resource".
func attributes(namespace, what string) authorizationv1.ResourceAttributes {
	fields := strings.Fields(what)
	a := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: fields[0]}
	if len(fields) == 3 {
		a.Group = fields[1]
	}
	a.Resource, a.Subresource, _ = strings.Cut(fields[len(fields)-1], "/")
	return a
}

// What the shipped roles for people permit, together with the admission policies: none includes another.
func TestRolesForPeople(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	run := createRun(ctx, t, ns)
	const none, respond, approve, update = "cannot patch", "need the verb respond", "need the verb approve", "need the verb update"
	// The built-in role that each comes with; this control plane has nobody who adds them up.
	aggregated := map[string]string{"motorcortex-viewer": "view", "motorcortex-editor": "edit", "motorcortex-admin": "admin"}
	credential := credentialRun(ns, []int{0})
	credential.Name = "with-credential"
	for role, want := range map[string]struct{ read, create, answer, decide, cancel, credential string }{
		"motorcortex-viewer":          {"", "cannot create", none, none, none, "cannot create"},
		"motorcortex-editor":          {"cannot get", "", respond, approve, "", "verb use"},
		"motorcortex-admin":           {"cannot get", "", respond, approve, "", "verb use"},
		"motorcortex-responder":       {"", "cannot create", "", approve, update, "cannot create"},
		"motorcortex-approver":        {"", "cannot create", respond, "", update, "cannot create"},
		"motorcortex-skill-approver":  {"cannot get", "cannot create", none, none, none, "cannot create"},
		"motorcortex-credential-user": {"cannot get", "cannot create", none, none, none, "cannot create"},
	} {
		t.Run(role, func(t *testing.T) {
			user := role + "@" + ns
			shipped := &rbacv1.ClusterRole{}
			must(t, admin.Get(ctx, client.ObjectKey{Name: role}, shipped))
			for label := range shipped.Labels {
				if builtIn, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok && aggregated[role] != builtIn {
					t.Errorf("it comes with the built-in role %s", builtIn)
				}
			}
			bind(ctx, t, ns, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role})
			first := map[string]string{
				"motorcortex-viewer": "get motorcortex.dev motorruns", "motorcortex-credential-user": "use secrets",
				"motorcortex-skill-approver": "approve motorcortex.dev skills",
			}[role]
			if first == "" {
				first = "patch motorcortex.dev motorruns"
			}
			awaitRight(ctx, t, user, attributes(ns, first))
			as, err := clientAs(user)
			must(t, err)
			c := dryRun(as)
			wantAdmitted(t, as.Get(ctx, client.ObjectKeyFromObject(run), run.DeepCopy()), want.read)
			wantAdmitted(t, c.Create(ctx, newRun(ns, named("own"))), want.create)
			wantAdmitted(t, add(ctx, c, run, "responses", answerOf), want.answer)
			wantAdmitted(t, add(ctx, c, run, "responses", decisionOf), want.decide)
			wantAdmitted(t, c.Patch(ctx, run.DeepCopy(), mergePatchOf(`{"spec":{"cancel":true}}`)), want.cancel)
			wantAdmitted(t, c.Create(ctx, credential.DeepCopy()), want.credential)
		})
	}
}

// The same for skills: who writes one, who approves it and who reads it may be different people.
func TestRolesForSkills(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ns := newNamespace(ctx, t)
	skill := hashedSkill(ctx, t, ns, "weather", thisDigest)
	revision := bareRevision(ns, "weather-0123456789ab")
	must(t, managerOfAll(t).Create(ctx, revision))
	// Who approves a skill must be able to read its files.
	files := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "weather-0123456789ab-0"}}
	must(t, admin.Create(ctx, files))
	const noGet, noCreate, noPatch = "cannot get", "cannot create", "cannot patch"
	for role, want := range map[string]struct{ read, create, replace, widen, approve string }{
		"motorcortex-viewer":          {"", noCreate, noPatch, noPatch, noPatch},
		"motorcortex-editor":          {noGet, "", "", "", noApprove},
		"motorcortex-admin":           {noGet, "", "", "", noApprove},
		"motorcortex-skill-approver":  {"", noCreate, noUpdate, "", ""},
		"motorcortex-approver":        {noGet, noCreate, noPatch, noPatch, noPatch},
		"motorcortex-responder":       {noGet, noCreate, noPatch, noPatch, noPatch},
		"motorcortex-credential-user": {noGet, noCreate, noPatch, noPatch, noPatch},
	} {
		t.Run(role, func(t *testing.T) {
			user := role + "@" + ns
			bind(ctx, t, ns, user, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role})
			shipped := &rbacv1.ClusterRole{}
			must(t, admin.Get(ctx, client.ObjectKey{Name: role}, shipped))
			first := shipped.Rules[0]
			awaitRight(ctx, t, user, attributes(ns, strings.TrimSpace(first.Verbs[0]+" "+first.APIGroups[0]+" "+first.Resources[0])))
			as, err := clientAs(user)
			must(t, err)
			c := dryRun(as)
			wantAdmitted(t, as.Get(ctx, client.ObjectKeyFromObject(skill), skill.DeepCopy()), want.read)
			wantAdmitted(t, as.Get(ctx, client.ObjectKeyFromObject(revision), revision.DeepCopy()), want.read)
			content := map[bool]string{true: "", false: noGet}[role == "motorcortex-skill-approver"]
			wantAdmitted(t, as.Get(ctx, client.ObjectKeyFromObject(files), files.DeepCopy()), content)
			if may(ctx, t, user, attributes(ns, "list configmaps")) || may(ctx, t, user, attributes(ns, "watch configmaps")) {
				t.Error("it lets people list the ConfigMaps of a namespace, whose names they do not know")
			}
			wantAdmitted(t, c.Create(ctx, skillOf(ns, "own")), want.create)
			wantAdmitted(t, patchJSON(ctx, c, skill, setting("source", `{"oci":{"reference":"registry.example.org/weather:1"}}`)), want.replace)
			wantAdmitted(t, patchJSON(ctx, c, skill, setting("policy", `{"domains":["example.org"]}`)), want.widen)
			wantAdmitted(t, patchJSON(ctx, c, skill, setting("approval", approvalOf(thisDigest))), want.approve)
			for _, what := range []string{"create", "update", "patch", "delete"} {
				if may(ctx, t, user, attributes(ns, what+" motorcortex.dev skillrevisions")) || may(ctx, t, user, attributes(ns, what+" motorcortex.dev skills/status")) {
					t.Errorf("it lets people %s what is the operator's", what)
				}
			}
		})
	}
}
