// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Credential is a Secret that the run may use without seeing it.
// +kubebuilder:validation:XValidation:rule="has(self.exposeToSandbox) && self.exposeToSandbox ? !has(self.hosts) || self.hosts.size() == 0 : has(self.hosts) && self.hosts.size() > 0",fieldPath=".hosts",message="a credential is bound to at least one host; only one with exposeToSandbox has none"
type Credential struct {
	// name by which the model knows it, as <credential:name>. Programs in the sandbox find a stand-in for the value in the
	// environment variable of that name in upper case.
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_]*[a-z0-9]$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['path', 'home', 'user', 'logname', 'shell', 'pwd', 'oldpwd', 'lang', 'language', 'term', 'tmpdir', 'temp', 'tmp', 'ifs', 'env', 'bash_env', 'hostname', 'http_proxy', 'https_proxy', 'all_proxy', 'no_proxy', 'ftp_proxy', 'ssl_cert_file', 'ssl_cert_dir', 'curl_ca_bundle', 'requests_ca_bundle', 'aws_ca_bundle', 'pip_cert']) && !['ld_', 'motor_', 'node_', 'python', 'git_', 'lc_', 'bash_', 'npm_config_', 'dyld_', 'openssl_'].exists(p, self.startsWith(p))",message="programs give the environment variable of that name a meaning of its own: choose another name, such as service_api_key"
	// +required
	Name string `json:"name"`
	// secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on
	// that Secret.
	// +required
	SecretRef SecretKeyRef `json:"secretRef"`
	// hosts are the only ones that the value is sent to. Each must be within domains.
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Hosts []Domain `json:"hosts,omitempty"`
	// slot is where in a request the value belongs: bearer or basic (the header Authorization; for basic the value is
	// user:password), "header NAME" or "query NAME".
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:Pattern=`^(bearer|basic|header [A-Za-z0-9][A-Za-z0-9-]{0,62}|query [A-Za-z0-9_.-]{1,63})$`
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('header ') || !(self.lowerAscii().substring(7) in ['host', 'connection', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'te', 'trailer', 'upgrade', 'expect', 'accept-encoding', 'proxy-authorization', 'proxy-connection', 'keep-alive', 'cookie', 'range', 'via', 'forwarded'])",message="that header belongs to the connection, not to a credential"
	// +default="bearer"
	// +optional
	Slot string `json:"slot,omitempty"`
	// exposeToSandbox puts the value itself into the environment variable, for what is not HTTP. The sandbox, and with it
	// the model, can read it then. The creator of the run needs the verb approve on MotorRuns.
	// +optional
	ExposeToSandbox bool `json:"exposeToSandbox,omitempty"`
}

// Requester is the user who created a run, as the API server knew them.
type Requester struct {
	// username of the user.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Username string `json:"username"`
	// groups of the user.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Groups []string `json:"groups,omitempty"`
}
