// SPDX-License-Identifier: Apache-2.0

//go:build e2e && security

package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/test/internet"
)

// furtherChecks are what must be true when all security tests are done.
var furtherChecks = []afterwardsCheck{
	{"NoSecretIsAnywhere", noSecretIsAnywhere},
	{"OnlyTheProxyLeftTheCluster", onlyTheProxyLeft},
	{"OnlyAllowedNamesWereAskedFor", onlyAllowedNames},
	{"NothingCameToTheSink", nothingCameToTheSink},
}

func onlyTheProxyLeft(context.Context) error {
	if leaked := world.net.Cable.Heard(func(p internet.Packet) bool { return !mayLeave(p) && !isProbe(p) }); len(leaked) > 0 {
		return fmt.Errorf("left the cluster: %v", leaked)
	}
	return nil
}

func onlyAllowedNames(context.Context) error {
	allowed := []string{"allowed.test", "api.test", "sub.wild.test", "rebind.test", "api.agentmail.test", "packages.test", "mcp.test"}
	for name := range forbiddenAnswers {
		// Runs were allowed these names; what they stand for is what the proxy refuses.
		allowed = append(allowed, name)
	}
	var wrong []string
	for _, name := range world.net.Names.Asked() {
		if !slices.Contains(allowed, name) && !slices.Contains(wrong, name) {
			wrong = append(wrong, name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the DNS server was asked for %q", wrong)
	}
	return nil
}

func nothingCameToTheSink(context.Context) error {
	if list := requestsTo("evil.test"); len(list) > 0 {
		return fmt.Errorf("evil.test got %+v", list)
	}
	return nil
}

// forms are what a value looks like when it is carried out.
func forms(value string) []string {
	b := []byte(value)
	return []string{
		value, base64.StdEncoding.EncodeToString(b), base64.RawURLEncoding.EncodeToString(b), hex.EncodeToString(b),
		url.QueryEscape(value), url.PathEscape(value),
	}
}

// find says which of the values, in whichever form, is in a text, without saying the value.
func find(text string) error {
	world.mu.Lock()
	values := slices.Clone(world.values)
	world.mu.Unlock()
	for i, v := range values {
		for j, form := range forms(v) {
			if strings.Contains(text, form) {
				return fmt.Errorf("value %d in form %d", i, j)
			}
		}
	}
	return nil
}

// noSecretIsAnywhere looks through every object of the cluster, the logs and the metrics.
func noSecretIsAnywhere(ctx context.Context) error {
	var wrong []error
	kinds, _, err := tryKubectl(ctx, "", "api-resources", "--verbs=list", "-o", "name")
	if err != nil {
		return err
	}
	looked := 0
	for kind := range strings.FieldsSeq(kinds) {
		if kind == "secrets" || strings.HasSuffix(kind, ".metrics.k8s.io") {
			continue
		}
		text, _, err := tryKubectl(ctx, "", "get", kind, "--all-namespaces", "-o", "json")
		if err != nil {
			continue // A kind that cannot be listed holds nothing of ours.
		}
		looked++
		if err := find(text); err != nil {
			wrong = append(wrong, fmt.Errorf("%s has %w", kind, err))
		}
	}
	if looked < 20 {
		return fmt.Errorf("only %d kinds of objects could be looked through", looked)
	}
	wrong = append(wrong, secretsWithValues(ctx), logsAndMetrics(ctx))
	return errors.Join(wrong...)
}

// secretsWithValues looks for values in Secrets that are neither a test's own nor what a run saved. Grants are gone with
// their runs.
func secretsWithValues(ctx context.Context) error {
	var list corev1.SecretList
	if err := suite.client.List(ctx, &list); err != nil {
		return err
	}
	own, err := ownNamespaces(ctx)
	if err != nil {
		return err
	}
	var wrong []error
	for _, s := range list.Items {
		if slices.ContainsFunc(own, func(ns corev1.Namespace) bool { return ns.Name == s.Namespace }) {
			continue
		}
		text, err := json.Marshal(s)
		if err == nil {
			err = find(string(text))
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err))
		}
	}
	return errors.Join(wrong...)
}

func logsAndMetrics(ctx context.Context) error {
	var pods corev1.PodList
	if err := suite.client.List(ctx, &pods, client.InNamespace(managerNamespace)); err != nil {
		return err
	}
	var wrong []error
	for _, p := range pods.Items {
		log, err := managerLog(ctx, p.Name)
		if err == nil {
			err = find(log)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("log of %s: %w", p.Name, err))
		}
		metrics, err := metricsOf(ctx, &p)
		if err == nil && len(metrics) == 0 {
			err = errors.New("no metrics")
		}
		if err == nil {
			err = find(metrics)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("metrics of %s: %w", p.Name, err))
		}
	}
	return errors.Join(wrong...)
}
