// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/rand"

	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/controller/archiver"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
	"motorcortex.dev/motorcortex/internal/secret"
)

// options are the manager's flags and the values from its Pod's environment.
type options struct {
	sandboxImage        string
	namespace           string
	metricsAddress      string
	metricsSecure       bool
	metricsCertDir      string
	healthAddress       string
	profileAddress      string
	logLevel            string
	logFormat           string
	model               string
	archiveBucket       string
	archiveRequired     bool
	archiveWait         time.Duration
	sandboxStartTimeout time.Duration
	isolationTimeout    time.Duration
	connectTimeout      time.Duration
	maxConcurrent       int
	maxLoops            int
	// loopMemory is how many bytes the loops may have in memory together.
	loopMemory      int64
	egressService   string
	egressTimeout   time.Duration
	outside         string
	forbiddenCIDRs  string
	allowedModels   string
	allowedSources  string
	allowedSinks    string
	fluxHost        string
	watchNamespaces string
	allowUnenforced bool
	ciliumPolicies  bool
	traceContent    bool
	auditFormat     string

	// worker is the name of this process, not of this Pod: a restarted container must not mistake itself for the former one.
	worker string
	// podName names the Lease of this process. Without a Pod it is the host's name.
	podName string
	podUID  string
	podIP   string
	builtIn cortex.Endpoint
	// The parsed values of --isolation-outside, --forbidden-cidrs and --watch-namespaces.
	outsideAddresses  []netip.AddrPort
	forbiddenPrefixes []netip.Prefix
	namespaces        []string
	// The parsed values of --allowed-model-cidrs, --allowed-source-cidrs and --allowed-sink-cidrs.
	models, sources, sinks reach
}

func (o *options) bind(fs *flag.FlagSet) {
	bindFaults(fs)
	fs.StringVar(&o.sandboxImage, "sandbox-image", os.Getenv("SANDBOX_IMAGE"), "image of the sandboxes, with the tool server in it (SANDBOX_IMAGE)")
	fs.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the manager, for its Lease and its key (POD_NAMESPACE)")
	fs.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "address of the metrics, 0 for none")
	fs.BoolVar(&o.metricsSecure, "metrics-secure", true, "serve the metrics by HTTPS, to those alone that the API server lets get /metrics; without it by HTTP, to all who reach the address")
	fs.StringVar(&o.metricsCertDir, "metrics-cert-dir", "", "folder with tls.crt and tls.key of the metrics' server; unset, it makes a certificate of its own at each start")
	fs.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "address of the probes; sandboxes are tried against it")
	fs.StringVar(&o.profileAddress, "pprof-bind-address", "", "address of the profiles of net/http/pprof, on the loopback, as in 127.0.0.1:6060; unset, there are none")
	fs.StringVar(&o.logLevel, "log-level", "info", "least level that is logged, debug, info, warn or error; PUT /loglevel of the metrics' server changes it while the manager runs")
	fs.StringVar(&o.logFormat, "log-format", "json", "format of the log, json or text")
	fs.StringVar(&o.model, "model", os.Getenv("OPENAI_MODEL"), "model of namespaces that name none (OPENAI_MODEL); its endpoint is OPENAI_BASE_URL with the key OPENAI_API_KEY")
	fs.StringVar(&o.archiveBucket, "archive-bucket", os.Getenv("ARCHIVE_BUCKET"), "where the steps of finished runs are kept, s3://NAME, gs://NAME, azblob://CONTAINER or file:///FOLDER; unset, they stay in the cluster (ARCHIVE_BUCKET)")
	fs.BoolVar(&o.archiveRequired, "archive-required", false, "keep finished runs until their steps are in the archive, however long that takes; needs --archive-bucket")
	fs.DurationVar(&o.archiveWait, "archive-wait", runpolicy.ArchiveWait, "how long a finished run is kept until its steps are in the archive; after that it goes without, unless --archive-required keeps it")
	fs.DurationVar(&o.sandboxStartTimeout, "sandbox-start-timeout", 3*time.Minute, "how long a sandbox Pod may take to run")
	fs.DurationVar(&o.isolationTimeout, "isolation-timeout", 10*time.Second, "how long a new sandbox may take until it reaches nothing")
	fs.DurationVar(&o.connectTimeout, "connect-timeout", 10*time.Second, "how long a running sandbox's tool server may be unreachable")
	fs.StringVar(&o.egressService, "egress-service", "motorcortex-egressproxy", "Service of the egress proxy, in the manager's namespace")
	fs.DurationVar(&o.egressTimeout, "egress-timeout", 15*time.Second, "how long the way from a sandbox to the egress proxy may take to open")
	fs.StringVar(&o.forbiddenCIDRs, "forbidden-cidrs", "", "further networks that no sandbox may reach through the egress proxy, separated by commas")
	fs.StringVar(&o.allowedModels, "allowed-model-cidrs", inCluster, "networks in which models and search providers that a namespace names may be, although they are those of nodes, loopback or the like, separated by commas; cluster stands for Pods and Services")
	fs.StringVar(&o.allowedSources, "allowed-source-cidrs", "", "networks in which registries and Flux artifacts that a Skill names may be, although they are those of nodes, Pods, Services, loopback or the like, separated by commas; cluster stands for Pods and Services")
	fs.StringVar(&o.allowedSinks, "allowed-sink-cidrs", "", "networks in which sinks of signals that a namespace names may be, although they are those of nodes, Pods, Services, loopback or the like, separated by commas; cluster stands for Pods and Services")
	fs.StringVar(&o.fluxHost, "flux-host", "source-controller.flux-system.svc.cluster.local", "host that serves the artifacts of Flux: a Service that is reached whatever --allowed-source-cidrs says")
	fs.StringVar(&o.outside, "isolation-outside", "1.1.1.1:443,[2606:4700:4700::1111]:443", "addresses outside of the cluster that each sandbox is tried against, IP:port, separated by commas")
	fs.BoolVar(&o.allowUnenforced, "allow-unenforced-isolation", false, "carry runs out although their sandboxes reach what they must not, and mark them; for a laptop, never for what you do not trust")
	fs.BoolVar(&o.ciliumPolicies, "cilium-fqdn-policies", false, "write a CiliumNetworkPolicy for each run with domains, as a second wall around the egress proxy; see config/cilium")
	fs.BoolVar(&o.traceContent, "trace-content", false, "put what models and tools say into the traces that OTEL_EXPORTER_OTLP_ENDPOINT is sent, 8 KiB of each; who reads traces reads that")
	fs.StringVar(&o.auditFormat, "audit-format", auditNone, "none, or ocsf: the leader writes who decided what to the standard output, as JSON lines of OCSF "+ocsf.Version)
	fs.StringVar(&o.watchNamespaces, "watch-namespaces", "", "the only namespaces whose runs are carried out, separated by commas; unset, all")
	fs.IntVar(&o.maxLoops, "max-loops", 0, "runs that are carried on at the same time, those that wait for a person not counted; 0 for as many as GOMEMLIMIT and the processors are for; a quarter of them is for the first run of each namespace")
	fs.IntVar(&o.maxConcurrent, "max-concurrent-reconciles", 8, "runs that are reconciled at the same time")
}

// checkLoopback refuses an address that others than the Pod itself reach: a profile shows what the manager has in its memory, keys too.
func checkLoopback(address string) error {
	if address == "" {
		return nil
	}
	if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().IsLoopback() {
		return fmt.Errorf("--pprof-bind-address is %q: it must be an address of the loopback with a port, as in 127.0.0.1:6060", address)
	}
	return nil
}

// leastArchiveWait is twice the time between the end of a run and the first try to archive it: with less, runs would be deleted without a try.
const leastArchiveWait = 2 * archiver.Delay

// defaultBaseURL is the base URL of openai-go if none is configured.
const defaultBaseURL = "https://api.openai.com/v1"

func (o *options) complete() error {
	if o.sandboxImage == "" {
		return errors.New("no sandbox image: set --sandbox-image or SANDBOX_IMAGE")
	}
	if o.namespace == "" {
		return errors.New("no namespace: set --namespace or POD_NAMESPACE to the manager's namespace")
	}
	if err := errors.Join(checkLoopback(o.profileAddress), ocsf.CheckFormat(o.auditFormat, auditNone)); err != nil {
		return err
	}
	if o.maxLoops < 0 {
		return fmt.Errorf("--max-loops is %d: it must be a number of runs, or 0 for as many as there is memory for", o.maxLoops)
	}
	// A negative limit changes nothing.
	loops, bytes := engine.SlotsFor(debug.SetMemoryLimit(-1), runtime.GOMAXPROCS(0))
	o.maxLoops, o.loopMemory = cmp.Or(o.maxLoops, loops), bytes
	var err error
	if o.outsideAddresses, err = parseEach("isolation-outside", o.outside, netip.ParseAddrPort); err != nil {
		return err
	}
	if o.forbiddenPrefixes, err = parseEach("forbidden-cidrs", o.forbiddenCIDRs, netip.ParsePrefix); err != nil {
		return err
	}
	if o.models, err = parseReach("allowed-model-cidrs", o.allowedModels); err != nil {
		return err
	}
	if o.sources, err = parseReach("allowed-source-cidrs", o.allowedSources); err != nil {
		return err
	}
	if o.sinks, err = parseReach("allowed-sink-cidrs", o.allowedSinks); err != nil {
		return err
	}
	o.namespaces = splitList(o.watchNamespaces)
	name := os.Getenv("POD_NAME")
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("name this worker: %w", err)
		}
		name = host
	}
	o.podName, o.podUID = name, os.Getenv("POD_UID")
	o.worker = replica.WorkerID(name, rand.String(5))
	o.podIP = os.Getenv("POD_IP")
	o.archiveBucket = strings.TrimSpace(o.archiveBucket)
	if o.archiveRequired && o.archiveBucket == "" {
		return errors.New("--archive-required needs --archive-bucket: without a bucket no run could ever be deleted")
	}
	if o.archiveWait < leastArchiveWait {
		return fmt.Errorf("--archive-wait is %s: set it to %s or more, because a run is archived some time after its end", o.archiveWait, leastArchiveWait)
	}
	o.builtIn = cortex.Endpoint{
		BaseURL: strings.TrimSpace(os.Getenv("OPENAI_BASE_URL")),
		APIKey:  secret.New(strings.TrimSpace(os.Getenv("OPENAI_API_KEY"))),
		Model:   strings.TrimSpace(o.model),
	}
	if o.builtIn.BaseURL == "" && !o.builtIn.APIKey.IsEmpty() {
		o.builtIn.BaseURL = defaultBaseURL
	}
	return nil
}
