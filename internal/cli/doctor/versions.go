// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex"
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/selftest"
)

const (
	// oldestServer is the oldest minor version of Kubernetes 1 that the operator runs on, stampingServer the oldest that it needs no overlay for.
	oldestServer, stampingServer = 32, 36
	// schemaPath is where the API server has the schema of the kinds.
	schemaPath = "/openapi/v3/apis/motorcortex.dev/v1alpha1"
)

// server asks the API server for its version.
func (e *examiner) server(ctx context.Context) {
	const name = "API server"
	text, err := e.raw.Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		e.say(name, Failed, "check the kubeconfig, its context and the network, as with \"kubectl version\"", "it cannot be asked: %v", err)
		return
	}
	var is version.Info
	minor := 0
	if err = json.Unmarshal(text, &is); err == nil {
		minor, err = strconv.Atoi(strings.TrimRight(is.Minor, "+"))
	}
	switch {
	case err != nil:
		e.say(name, Unknown, "", "it answers, and not with its version: %v", err)
	case is.Major == "1" && minor < oldestServer:
		e.say(name, Failed, "update the cluster", "Kubernetes %s: the operator needs 1.%d or later", is.GitVersion, oldestServer)
	case is.Major == "1" && minor < stampingServer:
		e.say(name, Warning, "see the guide of the installation", "Kubernetes %s has no MutatingAdmissionPolicy of version v1: clients write who they are themselves, and copies of runs are not known", is.GitVersion)
	default:
		e.say(name, OK, "", "Kubernetes %s", is.GitVersion)
	}
}

// kinds compares the CustomResourceDefinitions with those of the plugin.
func (e *examiner) kinds(ctx context.Context) {
	const name = "kinds"
	may, err := e.review(ctx, authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Verb: "get", Path: schemaPath}})
	switch {
	case err != nil:
		e.say(name, Unknown, "", "%v", err)
		return
	case !may:
		e.say(name, Unknown, "have the ClusterRole system:discovery bound to you", "you lack the right to get %s", schemaPath)
		return
	}
	switch err := selftest.Schema(ctx, e.raw); {
	case err == nil:
		e.say(name, OK, "", "%s has all fields that this plugin knows", v1alpha1.GroupVersion)
	case errors.Is(err, selftest.ErrOldSchema):
		e.say(name, Failed, "install the CustomResourceDefinitions of the operator's version, and the plugin of that version", "%v", err)
	case !apierrors.IsNotFound(err):
		e.say(name, Unknown, "try again", "%v", err)
	default:
		e.say(name, Failed, "install the operator, or select the right cluster with --context", "%v", err)
	}
}

// versions compares the version of the plugin with those of the replicas of the manager, which their Leases name.
func (e *examiner) versions(ctx context.Context) {
	const name = "versions"
	needed := right{"list", coordinationv1.GroupName, "leases", "", e.operator}
	if e.lacks(ctx, name, needed) {
		return
	}
	leases := &coordinationv1.LeaseList{}
	if err := e.client.List(ctx, leases, client.InNamespace(e.operator), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}); err != nil {
		e.trouble(name, needed, err)
		return
	}
	running := map[string]bool{}
	for i := range leases.Items {
		l := &leases.Items[i]
		if v := l.Annotations[v1alpha1.AnnotationVersion]; v != "" && e.age(l) <= maxLeaseAge {
			running[v] = true
		}
	}
	mine := motorcortex.Version()
	all := slices.Sorted(maps.Keys(running))
	switch {
	case len(all) == 0:
		e.say(name, Unknown, "see the checks of the operator", "the plugin is %s, and no replica of the manager says its version", mine)
	case len(all) > 1:
		e.say(name, Warning, "wait until the update is over, or finish it", "replicas of the manager have the versions %s, and the plugin is %s", strings.Join(all, " and "), mine)
	case release(all[0]) != release(mine):
		e.say(name, Warning, "use the plugin of the operator's version", "the plugin is %s, and the operator %s: one of them may not know what the other writes", mine, all[0])
	default:
		e.say(name, OK, "", "the plugin is %s, and the operator %s", mine, all[0])
	}
}

// release is the major and the minor part of a version.
func release(v string) string {
	parts := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}
