// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex/internal/controller"
	"motorcortex.dev/motorcortex/internal/engine"
	"motorcortex.dev/motorcortex/internal/modelref"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// setup builds the controllers and the engine.
func setup(ctx context.Context, mgr ctrl.Manager, o options, log *slog.Logger) error {
	key, err := managerKey(ctx, mgr, o.namespace)
	if err != nil {
		return err
	}
	cert, err := toolclient.ClientCertificate(key)
	if err != nil {
		return fmt.Errorf("make the manager's certificate: %w", err)
	}
	models := modelref.Resolver{Cortex: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Default: o.builtIn}
	reconciler := &controller.MotorRunReconciler{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder("motorcortex"),
		Models:   models,
		Config: controller.Config{
			Sandbox:             sandbox.Config{Image: o.sandboxImage, ManagerKey: toolclient.PublicKeyPin(key), Namespace: o.namespace},
			SandboxStartTimeout: o.sandboxStartTimeout,
			MaxConcurrent:       o.maxConcurrent,
			Archive:             o.archiveBucket != "",
		},
		Now: time.Now,
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	if err := setupArchive(ctx, mgr, o.archiveBucket, log); err != nil {
		return err
	}
	leases, err := coordinationv1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the client of the Leases: %w", err)
	}
	loops := &engine.Engine{
		Client: mgr.GetClient(),
		Live:   mgr.GetAPIReader(),
		Leases: leases,
		Models: models,
		NewModel: func(e modelref.Endpoint) (motorloop.Model, error) {
			return openai.New(openai.Endpoint{BaseURL: e.BaseURL, APIKey: e.APIKey.Reveal(), Model: e.Model}, openai.Options{Logger: log})
		},
		Config: engine.Config{
			Worker: o.worker, LeaseNamespace: o.namespace, PodName: o.podName, PodUID: o.podUID,
			ClientCert: cert, Forbidden: forbiddenTargets(o),
			IsolationTimeout: o.isolationTimeout, ConnectTimeout: o.connectTimeout, MaxLoops: o.maxLoops, Fault: faultPoint(),
		},
		Logger: log,
		Now:    time.Now,
	}
	if err := loops.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up the engine: %w", err)
	}
	return nil
}

// forbiddenTargets are addresses at which something is known to listen and that no sandbox may reach. The node's
// kubelet is added for each sandbox.
func forbiddenTargets(o options) []toolapi.ProbeTarget {
	targets := []toolapi.ProbeTarget{
		{Name: "the cloud's metadata address", Network: "tcp", Address: "169.254.169.254:80"},
	}
	if host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"); host != "" && port != "" {
		targets = append(targets, toolapi.ProbeTarget{Name: "the API server", Network: "tcp", Address: net.JoinHostPort(host, port)})
	}
	if _, port, err := net.SplitHostPort(o.healthAddress); err == nil && o.podIP != "" {
		targets = append(targets, toolapi.ProbeTarget{Name: "the manager", Network: "tcp", Address: net.JoinHostPort(o.podIP, port)})
	}
	for _, server := range nameServers("/etc/resolv.conf") {
		address := net.JoinHostPort(server, "53")
		targets = append(targets,
			toolapi.ProbeTarget{Name: "the cluster's DNS (udp)", Network: "udp", Address: address},
			toolapi.ProbeTarget{Name: "the cluster's DNS (tcp)", Network: "tcp", Address: address})
	}
	return targets
}

// nameServers reads the name servers of this Pod, which are the cluster's.
func nameServers(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var servers []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "nameserver" && net.ParseIP(fields[1]) != nil {
			servers = append(servers, fields[1])
		}
	}
	return servers
}
