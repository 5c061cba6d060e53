// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	managerNamespace = "motorcortex-system"
	managerUser      = "system:serviceaccount:motorcortex-system:motorcortex-manager"
	// compaction is how often the API server has etcd drop former versions, and settled how long the size must not shrink any more.
	compaction = 10 * time.Second
	settled    = 3 * compaction
	// leave is how long a manager may take to end.
	leave = 30 * time.Second
	// A manager is quiet if it uses less than so many percent of a processor between two looks.
	quietShare = 10
	lookEvery  = 2 * time.Second
	// maxSaid bounds what is kept of what a manager says.
	maxSaid = 64 << 10
)

// rig is an API server with etcd, where the operator is installed and does not run.
type rig struct {
	env *envtest.Environment
	// folder has the kubeconfigs.
	folder, kubeconfig string
	person, manager    client.WithWatch
}

func start(ctx context.Context) (r *rig, err error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS is not set: it is the folder with etcd, kube-apiserver and kubectl")
	}
	r = &rig{env: &envtest.Environment{
		BinaryAssetsDirectory: assets, ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
	}}
	server, etcd := r.env.ControlPlane.GetAPIServer(), &envtest.Etcd{}
	server.Configure().Set("etcd-compaction-interval", compaction.String())
	etcd.Configure().Set("quota-backend-bytes", "8589934592")
	r.env.ControlPlane.Etcd = etcd
	config, err := r.env.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the API server: %w", err), r.env.Stop())
	}
	if err := r.connect(ctx, config, filepath.Join(assets, "kubectl")); err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// connect makes the clients, and installs the operator.
func (r *rig) connect(ctx context.Context, config *rest.Config, kubectl string) (err error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	if r.folder, err = os.MkdirTemp("", "history"); err != nil {
		return err
	}
	if r.kubeconfig, err = r.write("person", config, ""); err != nil {
		return err
	}
	install := exec.CommandContext(ctx, kubectl, "--kubeconfig", r.kubeconfig, "apply", "--server-side", "-k", filepath.Join("config", "default"))
	if said, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("install config/default: %w: %s", err, said)
	}
	if r.person, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	config.Impersonate.UserName = managerUser
	if r.manager, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect as the manager: %w", err)
	}
	return nil
}

func (r *rig) stop() error { return errors.Join(r.env.Stop(), os.RemoveAll(r.folder)) }

// write writes a kubeconfig of the administrator, who acts as another user if one is named.
func (r *rig) write(name string, config *rest.Config, as string) (string, error) {
	k := clientcmdapi.NewConfig()
	k.Clusters[name] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	if !strings.Contains(config.Host, "://") {
		k.Clusters[name].Server = "https://" + config.Host
	}
	k.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Impersonate: as}
	k.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	k.CurrentContext = name
	file := filepath.Join(r.folder, name)
	if err := clientcmd.WriteToFile(*k, file); err != nil {
		return "", fmt.Errorf("write a kubeconfig: %w", err)
	}
	return file, nil
}

// stored returns how many bytes etcd uses, once former versions are dropped.
func (r *rig) stored(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	least, since := int64(math.MaxInt64), time.Now()
	for {
		now, err := r.inUse(ctx)
		if err != nil {
			return 0, err
		}
		// Leases make it go up and down a little.
		if now < least-least/50 {
			since = time.Now()
		}
		if least = min(least, now); time.Since(since) > settled {
			return least, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the size of etcd does not settle: %w", context.Cause(ctx))
		case <-time.After(time.Second):
		}
	}
}

// inUse reads the size from the metrics of etcd.
func (r *rig) inUse(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.env.ControlPlane.Etcd.URL.JoinPath("metrics").String(), http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of etcd: %w", err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return 0, fmt.Errorf("read the metrics of etcd: %w", err)
	}
	return sizeIn(content)
}

// sizeIn returns the bytes in use that the metrics of etcd tell.
func sizeIn(metrics []byte) (int64, error) {
	for line := range bytes.Lines(metrics) {
		if value, found := bytes.CutPrefix(line, []byte("etcd_mvcc_db_total_size_in_use_in_bytes ")); found {
			size, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			return int64(size), err
		}
	}
	return 0, errors.New("the metrics of etcd do not tell its size")
}

// process is a manager that runs.
type process struct {
	cmd *exec.Cmd
	// began is when it was started.
	began time.Time
	// ended is closed when it has ended.
	ended chan struct{}
	log   *tail
}

// startManager starts a replica of the manager, with the rights of the installed one. Replicas have different names.
func (r *rig) startManager(ctx context.Context, program, name string) (*process, error) {
	file, err := r.write("manager", r.env.Config, managerUser)
	if err != nil {
		return nil, err
	}
	p := &process{ended: make(chan struct{}), log: &tail{}}
	p.cmd = exec.CommandContext(ctx, program, "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:0")
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+file, "POD_NAMESPACE="+managerNamespace, "POD_NAME="+name, "POD_IP=127.0.0.1", "SANDBOX_IMAGE=sandbox:none")
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // What it said tells more.
	}()
	return p, nil
}

func (p *process) said() string { return p.log.String() }

// end terminates the manager, which gives its Lease back.
func (p *process) end() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("terminate the manager: %w", err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(leave):
		return errors.Join(fmt.Errorf("the manager does not end within %s", leave), p.cmd.Process.Kill())
	}
}

// quiet waits until the manager has nothing to do: it looks at each run once after its start.
func (p *process) quiet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	last := time.Duration(math.MaxInt64)
	for {
		used, err := p.used()
		if err != nil {
			return err
		}
		if used-last >= 0 && used-last < quietShare*lookEvery/100 {
			return nil
		}
		last = used
		select {
		case <-ctx.Done():
			return fmt.Errorf("the manager is busy all the time: %w", context.Cause(ctx))
		case <-p.ended:
			return fmt.Errorf("the manager ended:\n%s", p.said())
		case <-time.After(lookEvery):
		}
	}
}

// used returns the processor time that the manager has used, to a hundredth of a second.
func (p *process) used() (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of the manager: %w", err)
	}
	return usedIn(string(content))
}

// usedIn sums up the fields utime and stime of proc_pid_stat(5), in hundredths of a second on Linux. The name before them may have spaces.
func usedIn(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q is no line of /proc/PID/stat", stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond, errors.Join(err, err2)
}

// tail keeps the end of what a program says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - maxSaid; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// String returns it.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
