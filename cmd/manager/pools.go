// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/timekeeper"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// poolShowPause is how long the status of a pool may wait to show that runs have taken some of its sandboxes: usually they are replaced by then.
const poolShowPause = 5 * time.Second

// setupPools builds the controller of pools. It closes namespaces in the same way as that of runs.
func setupPools(
	mgr ctrl.Manager, clock *timekeeper.Clock, o options, cert tls.Certificate, reconciler *runs.Reconciler, forbidden []toolapi.ProbeTarget,
) (*pool.Reconciler, error) {
	pools := &pool.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("motorcortex"), Now: clock.Now, Local: time.Now,
		Closer: &isolation.Policies{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Sandbox: reconciler.Config.Sandbox},
		Connect: func(pod *corev1.Pod) (pool.Prober, error) {
			return toolclient.New(toolclient.Config{
				Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(toolapi.Port)), PodUID: string(pod.UID), ClientCert: cert,
			})
		},
		Config: pool.Config{
			Sandbox: reconciler.Config.Sandbox, Forbidden: forbidden, StartTimeout: o.sandboxStartTimeout, IsolationTimeout: o.isolationTimeout,
			AllowUnenforced: o.allowUnenforced, WithoutNodes: reconciler.Config.WithoutNodes, ShowPause: poolShowPause,
		},
	}
	return pools, pools.SetupWithManager(mgr)
}
