// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// kubeconfig writes what an administrator of the control plane has, or a user whom they act as.
func kubeconfig(t *testing.T, namespace string, user ...string) string {
	t.Helper()
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["c"] = &clientcmdapi.Cluster{Server: adminConfig.Host, CertificateAuthorityData: adminConfig.CAData}
	cfg.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: adminConfig.CertData, ClientKeyData: adminConfig.KeyData}
	if len(user) > 0 {
		cfg.AuthInfos["u"].Impersonate, cfg.AuthInfos["u"].ImpersonateGroups = user[0], []string{"system:authenticated"}
	}
	cfg.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	cfg.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*cfg, path))
	return path
}

func TestArchiveIsVerifiedByItsRun(t *testing.T) {
	r := newArchiveRig(t)
	verify := func(args ...string) (code int, out, errs string) {
		var o, e strings.Builder
		code = plugIn(t, verb.Streams{Out: &o, Err: &e}, append([]string{"archive", "verify", "file://" + r.folder}, args...)...)
		return code, o.String(), e.String()
	}
	file := kubeconfig(t, r.ns)
	if code, _, errs := verify("--run", "run", "--kubeconfig", file); code != verb.ExitUnknown || !strings.Contains(errs, "has no archive") {
		t.Errorf("before there is one: %d, %s", code, errs)
	}
	must(t, r.archive())
	for name, args := range map[string][]string{
		"in the namespace of the context": {"--run", "run"}, "with its namespace": {"--run", r.ns + "/run"}, "with a flag": {"-n", r.ns, "--run", "run"},
	} {
		if code, out, errs := verify(append(args, "--kubeconfig", file)...); code != verb.ExitOK || !strings.Contains(out, "MotorRun "+r.ns+"/run, 2 steps") {
			t.Errorf("%s: %d, %s%s", name, code, out, errs)
		}
	}
	if code, _, errs := verify("--run", "default/run", "--kubeconfig", file); code != verb.ExitUnknown || !strings.Contains(errs, "not found") {
		t.Errorf("a run that is not there: %d, %s", code, errs)
	}
	data, err := os.ReadFile(r.path())
	must(t, err)
	must(t, os.WriteFile(r.path(), bytes.Replace(data, []byte(`"content":"done"`), []byte(`"content":"d0ne"`), 1), 0o600))
	if code, out, _ := verify("--run", "run", "--kubeconfig", file); code != verb.ExitFailed || !strings.Contains(out, "line 3 (MotorStep run-a01-s0002)") {
		t.Errorf("a file that was changed: %d, %s", code, out)
	}
}
