// SPDX-License-Identifier: Apache-2.0
// Generated from config/crd/bases by "make generate". Do not edit.

/** The owner of an object. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The metadata of an object, as the API server returns it. */
export interface ObjectMeta {
  name: string;
  namespace: string;
  uid: string;
  resourceVersion: string;
  generation: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

/**
 * approval says who may decide for the runs of this namespace.
 */
export interface MotorCortexSpecApproval {
  /**
   * fourEyes keeps the creator of a run from deciding for it, whatever rights that person has: about tool calls and domains, and by
   * addDomains of a retry. exposeToSandbox cannot be set then. Off by default.
   */
  fourEyes?: boolean;
}

/**
 * perDay is the most that all runs may spend in a day of UTC.
 */
export interface MotorCortexSpecBudgetPerDay {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * perMonth is the most that all runs may spend in a month of UTC.
 */
export interface MotorCortexSpecBudgetPerMonth {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * perRequester is the most that the runs of one requester may spend in a day of UTC.
 */
export interface MotorCortexSpecBudgetPerRequester {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * perRun is the most that one run may spend. A run can narrow it with spec.budget.
 */
export interface MotorCortexSpecBudgetPerRun {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * ModelPrice is what a model costs, for each million of tokens.
 */
export interface ModelPrice {
  /**
   * cachedInput is the price of a million tokens of requests that the endpoint had in its cache: that of input if unset.
   */
  cachedInput?: string;
  /**
   * input is the price of a million tokens of requests.
   */
  input: string;
  /**
   * model is the name that spec.models, or spec.model of a run, has for it.
   */
  model: string;
  /**
   * output is the price of a million tokens of answers.
   */
  output: string;
}

/**
 * budget says what models cost, and what the runs of this namespace may spend on them. Unset, nothing is counted but tokens, and nothing is
 * bounded.
 */
export interface MotorCortexSpecBudget {
  /**
   * currency of all prices and costs, such as EUR.
   */
  currency?: string;
  /**
   * hard keeps people from raising perDay and perMonth for a run that has reached one of them: runs wait until the day or the month is
   * over, or the MotorCortex is changed.
   */
  hard?: boolean;
  /**
   * maxOutputTokens is how many tokens an answer is taken to have at most when its call is weighed. An answer that is longer counts with
   * what it has.
   */
  maxOutputTokens?: number;
  /**
   * perDay is the most that all runs may spend in a day of UTC.
   */
  perDay?: MotorCortexSpecBudgetPerDay;
  /**
   * perMonth is the most that all runs may spend in a month of UTC.
   */
  perMonth?: MotorCortexSpecBudgetPerMonth;
  /**
   * perRequester is the most that the runs of one requester may spend in a day of UTC.
   */
  perRequester?: MotorCortexSpecBudgetPerRequester;
  /**
   * perRun is the most that one run may spend. A run can narrow it with spec.budget.
   */
  perRun?: MotorCortexSpecBudgetPerRun;
  /**
   * prices of models. A model without a price costs nothing that is known; where a bound of cost applies, it is not asked.
   */
  prices?: ModelPrice[];
}

/**
 * concurrency bounds how many runs of this namespace are carried out at the same time: one, if it says nothing else. In a namespace without
 * a MotorCortex there is no bound.
 */
export interface MotorCortexSpecConcurrency {
  /**
   * maxActive is the most runs that have begun and not ended. One that waits for a person, or is suspended, holds its place.
   */
  maxActive?: number;
  /**
   * whenBusy is what becomes of a run for which there is no place: it waits for its turn (Queue), or ends at once (Reject).
   */
  whenBusy?: "Queue" | "Reject";
}

/**
 * egress bounds what the runs of this namespace may reach.
 */
export interface MotorCortexSpecEgress {
  /**
   * allowedDomains are the most that a run may be allowed, by its spec or by a person: each of its domains must be within one of these. An
   * empty list allows none; unset, there is no such bound.
   */
  allowedDomains?: string[];
}

/**
 * EnergyDrain is what runs of one kind drain. Fields that are unset are those of the preset.
 */
export interface EnergyDrain {
  /**
   * base is drained when a run is accepted.
   */
  base?: string;
  /**
   * freeIterations is how many answers of the model the base pays for.
   */
  freeIterations?: number;
  /**
   * kind of the runs.
   */
  kind: "Oneshot" | "OneshotNetwork" | "Agentic" | "AgenticBrowser";
  /**
   * minimumLevel is the level from which on such a run is accepted. It never begins with less than its base.
   */
  minimumLevel?: string;
  /**
   * perIteration is drained for each further answer, when the run has ended.
   */
  perIteration?: string;
}

/**
 * energy bounds how much the runs of this namespace do. Unset, there is no such bound.
 */
export interface MotorCortexSpecEnergy {
  /**
   * drains replace values of the preset, for each kind of run that they name.
   */
  drains?: EnergyDrain[];
  /**
   * initial is the level with which the body begins, when energy is switched on.
   */
  initial?: string;
  /**
   * preset is the table of what runs drain. Variable: Oneshot 0.05, with domains 0.15; Agentic 0.1, with a browser 0.2, and from the sixth
   * answer of the model on 0.01 or 0.02 for each. Flat: Oneshot 0.05, with domains 0.15; Agentic 0.15, whatever it does.
   */
  preset?: "Flat" | "Variable";
  /**
   * regenerationPerHour is how much comes back in an hour, from 0 to below 1000. With 0 nothing comes back.
   */
  regenerationPerHour?: string;
  /**
   * whenTired is what becomes of a run for which the level is too low: it waits until there is enough (Queue), or ends at once (Reject).
   */
  whenTired?: "Queue" | "Reject";
}

/**
 * apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
 * and none otherwise: the manager's key is never sent to another endpoint.
 */
export interface MotorCortexSpecModelsDefaultApiKeySecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * default is for every role that has none of its own.
 */
export interface MotorCortexSpecModelsDefault {
  /**
   * apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
   * and none otherwise: the manager's key is never sent to another endpoint.
   */
  apiKeySecretRef?: MotorCortexSpecModelsDefaultApiKeySecretRef;
  /**
   * baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
   */
  baseURL?: string;
  /**
   * contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the endpoint's own
   * word for it counts as soon as it refuses a request for its length, and 128000 until then.
   */
  contextTokens?: number;
  /**
   * finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a row
   * ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool call;
   * whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and one that
   * says what the model is about to do.
   */
  finish?: "Call" | "Text";
  /**
   * idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole answer takes
   * is bounded by requestTimeoutSeconds alone.
   */
  idleTimeoutSeconds?: number;
  /**
   * model is the name that the endpoint knows the model by.
   */
  model: string;
  /**
   * outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt fails. It
   * counts anew for each outage.
   */
  outageDeadlineSeconds?: number;
  /**
   * requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
   */
  requestTimeoutSeconds?: number;
}

/**
 * apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
 * and none otherwise: the manager's key is never sent to another endpoint.
 */
export interface MotorCortexSpecModelsFastApiKeySecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * fast is for the hint with which an attempt that failed suggests what to try next. Everything else is asked of motor.
 */
export interface MotorCortexSpecModelsFast {
  /**
   * apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
   * and none otherwise: the manager's key is never sent to another endpoint.
   */
  apiKeySecretRef?: MotorCortexSpecModelsFastApiKeySecretRef;
  /**
   * baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
   */
  baseURL?: string;
  /**
   * contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the endpoint's own
   * word for it counts as soon as it refuses a request for its length, and 128000 until then.
   */
  contextTokens?: number;
  /**
   * finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a row
   * ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool call;
   * whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and one that
   * says what the model is about to do.
   */
  finish?: "Call" | "Text";
  /**
   * idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole answer takes
   * is bounded by requestTimeoutSeconds alone.
   */
  idleTimeoutSeconds?: number;
  /**
   * model is the name that the endpoint knows the model by.
   */
  model: string;
  /**
   * outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt fails. It
   * counts anew for each outage.
   */
  outageDeadlineSeconds?: number;
  /**
   * requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
   */
  requestTimeoutSeconds?: number;
}

/**
 * apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
 * and none otherwise: the manager's key is never sent to another endpoint.
 */
export interface MotorCortexSpecModelsMotorApiKeySecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * motor drives the loop of a run.
 */
export interface MotorCortexSpecModelsMotor {
  /**
   * apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
   * and none otherwise: the manager's key is never sent to another endpoint.
   */
  apiKeySecretRef?: MotorCortexSpecModelsMotorApiKeySecretRef;
  /**
   * baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
   */
  baseURL?: string;
  /**
   * contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the endpoint's own
   * word for it counts as soon as it refuses a request for its length, and 128000 until then.
   */
  contextTokens?: number;
  /**
   * finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a row
   * ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool call;
   * whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and one that
   * says what the model is about to do.
   */
  finish?: "Call" | "Text";
  /**
   * idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole answer takes
   * is bounded by requestTimeoutSeconds alone.
   */
  idleTimeoutSeconds?: number;
  /**
   * model is the name that the endpoint knows the model by.
   */
  model: string;
  /**
   * outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt fails. It
   * counts anew for each outage.
   */
  outageDeadlineSeconds?: number;
  /**
   * requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
   */
  requestTimeoutSeconds?: number;
}

/**
 * models are the chat models that runs of this namespace may use. A role without a model of its own falls back: motor to fast, fast to
 * default, default to the manager's.
 */
export interface MotorCortexSpecModels {
  /**
   * default is for every role that has none of its own.
   */
  default?: MotorCortexSpecModelsDefault;
  /**
   * fast is for the hint with which an attempt that failed suggests what to try next. Everything else is asked of motor.
   */
  fast?: MotorCortexSpecModelsFast;
  /**
   * motor drives the loop of a run.
   */
  motor?: MotorCortexSpecModelsMotor;
}

/**
 * digest says from when on many asks come in one message.
 */
export interface NotificationReceiverDigest {
  /**
   * asks is how many of them have a message of their own within a window. Reminders count, too.
   */
  asks?: number;
  /**
   * windowSeconds is the length of the window.
   */
  windowSeconds?: number;
}

/**
 * passwordSecretRef is the key of a Secret in this namespace that holds the password.
 */
export interface NotificationReceiverEmailPasswordSecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * usernameSecretRef is the key of a Secret in this namespace that holds the user name at the mail server. Unset, the manager does not log
 * in.
 */
export interface NotificationReceiverEmailUsernameSecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * email gets each message as an e-mail in plain text.
 */
export interface NotificationReceiverEmail {
  /**
   * caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
   */
  caBundle?: string;
  /**
   * host is the name of the mail server, or its IPv4 address. Its certificate must be for that.
   */
  host: string;
  /**
   * passwordSecretRef is the key of a Secret in this namespace that holds the password.
   */
  passwordSecretRef?: NotificationReceiverEmailPasswordSecretRef;
  /**
   * port of the mail server, usually 587 with StartTLS and 465 with Implicit.
   */
  port?: number;
  /**
   * recipients are the addresses of the mailboxes. A server that refuses one of them is sent the message for none.
   */
  recipients: string[];
  /**
   * sender is the address that messages are from.
   */
  sender: string;
  /**
   * tls is how the connection is encrypted. StartTLS: after the greeting, and a server that does not offer it is sent nothing. Implicit:
   * from the first byte.
   */
  tls?: "StartTLS" | "Implicit";
  /**
   * usernameSecretRef is the key of a Secret in this namespace that holds the user name at the mail server. Unset, the manager does not log
   * in.
   */
  usernameSecretRef?: NotificationReceiverEmailUsernameSecretRef;
}

/**
 * A label selector requirement is a selector that contains values, a key, and an operator that relates the key and values.
 */
export interface NotificationReceiverRunSelectorMatchExpressions {
  /**
   * key is the label key that the selector applies to.
   */
  key: string;
  /**
   * operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and DoesNotExist.
   */
  operator: string;
  /**
   * values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is Exists or
   * DoesNotExist, the values array must be empty. This array is replaced during a strategic merge patch.
   */
  values?: string[];
}

/**
 * runSelector selects the runs that the receiver is told of, by their labels; unset, all. Skills are told whatever it says.
 */
export interface NotificationReceiverRunSelector {
  /**
   * matchExpressions is a list of label selector requirements. The requirements are ANDed.
   */
  matchExpressions?: NotificationReceiverRunSelectorMatchExpressions[];
  /**
   * matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an element of matchExpressions,
   * whose key field is "key", the operator is "In", and the values array contains only "value". The requirements are ANDed.
   */
  matchLabels?: Record<string, string>;
}

/**
 * urlSecretRef is the key of a Secret in this namespace that holds the URL of the incoming webhook, which begins with https. Who knows the
 * URL can write into the channel.
 */
export interface NotificationReceiverSlackUrlSecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * slack gets each message in a channel of Slack.
 */
export interface NotificationReceiverSlack {
  /**
   * buttons has messages about asks come with buttons. The webhook must be of an app of Slack whose interactivity leads to the page of the
   * cluster.
   */
  buttons?: boolean;
  /**
   * urlSecretRef is the key of a Secret in this namespace that holds the URL of the incoming webhook, which begins with https. Who knows
   * the URL can write into the channel.
   */
  urlSecretRef: NotificationReceiverSlackUrlSecretRef;
}

/**
 * signingKeySecretRef is the key of a Secret in this namespace that holds the key by which messages are signed after Standard Webhooks,
 * with HMAC-SHA256. Unset, they are not signed.
 */
export interface NotificationReceiverWebhookSigningKeySecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * webhook gets each message as JSON by HTTP POST.
 */
export interface NotificationReceiverWebhook {
  /**
   * caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
   */
  caBundle?: string;
  /**
   * signingKeySecretRef is the key of a Secret in this namespace that holds the key by which messages are signed after Standard Webhooks,
   * with HMAC-SHA256. Unset, they are not signed.
   */
  signingKeySecretRef?: NotificationReceiverWebhookSigningKeySecretRef;
  /**
   * url that the messages are posted to. Redirects are not followed.
   */
  url: string;
}

/**
 * NotificationReceiver is a channel that people read.
 */
export interface NotificationReceiver {
  /**
   * digest says from when on many asks come in one message.
   */
  digest?: NotificationReceiverDigest;
  /**
   * email gets each message as an e-mail in plain text.
   */
  email?: NotificationReceiverEmail;
  /**
   * events are those that the receiver is told; unset or empty, all.
   */
  events?: ("Asks" | "Ends" | "Failures" | "Skills")[];
  /**
   * name of the receiver, for the status.
   */
  name: string;
  /**
   * remindBeforeSeconds is how long before its deadline an ask that is still open is told once more. Unset, it is not. An ask that had no
   * more time from the beginning is told once.
   */
  remindBeforeSeconds?: number;
  /**
   * runSelector selects the runs that the receiver is told of, by their labels; unset, all. Skills are told whatever it says.
   */
  runSelector?: NotificationReceiverRunSelector;
  /**
   * slack gets each message in a channel of Slack.
   */
  slack?: NotificationReceiverSlack;
  /**
   * webhook gets each message as JSON by HTTP POST.
   */
  webhook?: NotificationReceiverWebhook;
}

/**
 * notifications says which people are told what waits for them in this namespace, and how runs end.
 */
export interface MotorCortexSpecNotifications {
  /**
   * pageURL is where the page is for people, as in https://motor.example.org. Set, each message has a link to its run or skill there.
   */
  pageURL?: string;
  /**
   * receivers are told each on its own: one that is slow or away holds up no other, and no run.
   */
  receivers?: NotificationReceiver[];
}

/**
 * apt is a repository of Debian packages.
 */
export interface MotorCortexSpecPackagesApt {
  /**
   * components of the suite, as in main.
   */
  components?: string[];
  /**
   * keyring has the armored OpenPGP public keys that apt knows the repository by, in place of those of the sandbox image.
   */
  keyring?: string;
  /**
   * suite of the distribution, as in trixie, or a path that ends with a slash.
   */
  suite: string;
  /**
   * url of the repository, as in https://deb.example.org/debian.
   */
  url: string;
}

/**
 * packages is where the dependencies of skills are installed from. Unset, no skill can have any.
 */
export interface MotorCortexSpecPackages {
  /**
   * apt is a repository of Debian packages.
   */
  apt?: MotorCortexSpecPackagesApt;
  /**
   * caBundle has certificates of authorities, in PEM, by which these hosts are known, beside those of the sandbox image.
   */
  caBundle?: string;
  /**
   * hosts are further hosts that the files of packages come from.
   */
  hosts?: string[];
  /**
   * npm is the address of a registry for npm.
   */
  npm?: string;
  /**
   * pip is the address of a simple index for Python packages.
   */
  pip?: string;
}

/**
 * retention says how long, and how many, finished runs are kept, and how much of the cluster's storage runs may take.
 */
export interface MotorCortexSpecRetention {
  /**
   * failedSeconds is how long a run that failed or was cancelled is kept, unless it says so itself: a week if unset, of mode Oneshot 10
   * minutes.
   */
  failedSeconds?: number;
  /**
   * maxFailed is how many runs that failed or were cancelled are kept, the newest; unset, there is no such limit. Runs of mode Oneshot do
   * not count.
   */
  maxFailed?: number;
  /**
   * maxStorage is the most bytes that the runs of the namespace may keep in the cluster, with their steps and artifacts: default 1Gi. Runs
   * that have not begun do not count. From four fifths of it on, runs of which the archive has everything are deleted before their time,
   * the oldest first. At all of it, no further run begins. At a quarter more, no run asks its model for another step.
   */
  maxStorage?: (number | string);
  /**
   * maxSucceeded is how many runs that succeeded are kept, the newest; unset, there is no such limit. Runs of mode Oneshot do not count.
   */
  maxSucceeded?: number;
  /**
   * succeededSeconds is how long a run that succeeded is kept, unless it says so itself: a day if unset, of mode Oneshot 10 minutes.
   */
  succeededSeconds?: number;
}

/**
 * sandbox bounds the shape of the sandboxes of this namespace, and names the pools that they come from.
 */
export interface MotorCortexSpecSandbox {
  /**
   * allowedStorageClasses are the StorageClasses that a run may name in sandbox.workspaceStorageClassName. Unset or empty, it may name
   * none. How much of a class all runs of the namespace may have together is for a ResourceQuota.
   */
  allowedStorageClasses?: string[];
  /**
   * pools are the SandboxPools of the namespace from which its runs take their sandboxes, in this order. A run that finds none of its shape
   * starts with a new one.
   */
  pools?: string[];
}

/**
 * apiKeySecretRef is the key of a Secret in this namespace that holds the API key.
 */
export interface MotorCortexSpecSearchApiKeySecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * search is where the tool search_web asks. Unset, the tool is not offered to any model.
 */
export interface MotorCortexSpecSearch {
  /**
   * apiKeySecretRef is the key of a Secret in this namespace that holds the API key.
   */
  apiKeySecretRef?: MotorCortexSpecSearchApiKeySecretRef;
  /**
   * type is the shape of its API.
   */
  type: "SearXNG" | "Brave";
  /**
   * url of a SearXNG instance, without /search; of Brave, where it is not its own.
   */
  url?: string;
}

/**
 * authorizationSecretRef is the key of a Secret in this namespace that holds the whole value of the header Authorization, as in "Bearer
 * abc". Unset, there is no such header.
 */
export interface SignalSinkAuthorizationSecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * signingKeySecretRef is the key of a Secret in this namespace that holds the key by which signals are signed after Standard Webhooks, with
 * HMAC-SHA256. Unset, they are not signed.
 */
export interface SignalSinkSigningKeySecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * SignalSink is a service that takes CloudEvents by HTTP POST, in structured mode. The manager sends them, not the sandbox.
 */
export interface SignalSink {
  /**
   * authorizationSecretRef is the key of a Secret in this namespace that holds the whole value of the header Authorization, as in "Bearer
   * abc". Unset, there is no such header.
   */
  authorizationSecretRef?: SignalSinkAuthorizationSecretRef;
  /**
   * caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
   */
  caBundle?: string;
  /**
   * events are those that the sink is told; unset or empty, all.
   */
  events?: ("RunStarted" | "RunProgress" | "RunAwaitingInput" | "RunCompleted" | "RunFailed" | "RunCancelled" | "SkillPendingReview" | "SkillAwaitingApproval" | "SkillApproved" | "SkillNeedsReapproval" | "SkillRejected" | "SkillRevoked")[];
  /**
   * name of the sink, for the status.
   */
  name: string;
  /**
   * signingKeySecretRef is the key of a Secret in this namespace that holds the key by which signals are signed after Standard Webhooks,
   * with HMAC-SHA256. Unset, they are not signed.
   */
  signingKeySecretRef?: SignalSinkSigningKeySecretRef;
  /**
   * url that the signals are posted to. Redirects are not followed.
   */
  url: string;
}

/**
 * signals says which services are told what becomes of the runs and skills of this namespace.
 */
export interface MotorCortexSpecSignals {
  /**
   * sinks are the services that are told, each on its own: one that is slow or away holds up no other, and no run.
   */
  sinks?: SignalSink[];
}

/**
 * MotorCortexSpec is what the runs of a namespace have in common.
 */
export interface MotorCortexSpec {
  /**
   * approval says who may decide for the runs of this namespace.
   */
  approval?: MotorCortexSpecApproval;
  /**
   * budget says what models cost, and what the runs of this namespace may spend on them. Unset, nothing is counted but tokens, and nothing
   * is bounded.
   */
  budget?: MotorCortexSpecBudget;
  /**
   * concurrency bounds how many runs of this namespace are carried out at the same time: one, if it says nothing else. In a namespace
   * without a MotorCortex there is no bound.
   */
  concurrency?: MotorCortexSpecConcurrency;
  /**
   * egress bounds what the runs of this namespace may reach.
   */
  egress?: MotorCortexSpecEgress;
  /**
   * energy bounds how much the runs of this namespace do. Unset, there is no such bound.
   */
  energy?: MotorCortexSpecEnergy;
  /**
   * models are the chat models that runs of this namespace may use. A role without a model of its own falls back: motor to fast, fast to
   * default, default to the manager's.
   */
  models?: MotorCortexSpecModels;
  /**
   * notifications says which people are told what waits for them in this namespace, and how runs end.
   */
  notifications?: MotorCortexSpecNotifications;
  /**
   * packages is where the dependencies of skills are installed from. Unset, no skill can have any.
   */
  packages?: MotorCortexSpecPackages;
  /**
   * retention says how long, and how many, finished runs are kept, and how much of the cluster's storage runs may take.
   */
  retention?: MotorCortexSpecRetention;
  /**
   * sandbox bounds the shape of the sandboxes of this namespace, and names the pools that they come from.
   */
  sandbox?: MotorCortexSpecSandbox;
  /**
   * search is where the tool search_web asks. Unset, the tool is not offered to any model.
   */
  search?: MotorCortexSpecSearch;
  /**
   * signals says which services are told what becomes of the runs and skills of this namespace.
   */
  signals?: MotorCortexSpecSignals;
}

/**
 * BudgetRaise is what a person added to a bound.
 */
export interface BudgetRaise {
  /**
   * cost that was added.
   */
  cost?: string;
  /**
   * id of the ask.
   */
  id: string;
  /**
   * runUID of the run that asked.
   */
  runUID: string;
  /**
   * tokens that were added.
   */
  tokens?: number;
}

/**
 * day is the latest day of UTC in which a run spent something.
 */
export interface MotorCortexStatusBudgetDay {
  /**
   * cost that was spent or is reserved.
   */
  cost?: string;
  /**
   * period is the day, as in 2026-11-27, or the month, as in 2026-11.
   */
  period: string;
  /**
   * raises are what people added to the bound in this period.
   */
  raises?: BudgetRaise[];
  /**
   * tokens that were spent or are reserved.
   */
  tokens?: number;
}

/**
 * month is the latest month of UTC in which a run spent something.
 */
export interface MotorCortexStatusBudgetMonth {
  /**
   * cost that was spent or is reserved.
   */
  cost?: string;
  /**
   * period is the day, as in 2026-11-27, or the month, as in 2026-11.
   */
  period: string;
  /**
   * raises are what people added to the bound in this period.
   */
  raises?: BudgetRaise[];
  /**
   * tokens that were spent or are reserved.
   */
  tokens?: number;
}

/**
 * BudgetShare is what a run may spend before it asks for more.
 */
export interface BudgetShare {
  /**
   * callCost is the most that one call of the share costs.
   */
  callCost?: string;
  /**
   * callTokens are the most tokens of one call of the share. They count as spent if the worker ended in the middle of a call.
   */
  callTokens?: number;
  /**
   * epoch of the claim on the run under which the share was taken.
   */
  epoch?: number;
  /**
   * requester is the entry of requesters that the run counts for.
   */
  requester?: string;
  /**
   * reservationTime is when the share was taken.
   */
  reservationTime?: string;
  /**
   * reservedCost is the cost of the share.
   */
  reservedCost?: string;
  /**
   * reservedTokens are the tokens of the share.
   */
  reservedTokens?: number;
  /**
   * runName of the run.
   */
  runName?: string;
  /**
   * runUID of the run.
   */
  runUID: string;
  /**
   * settledCost is which cost of the run's steps the sums have in them.
   */
  settledCost?: string;
  /**
   * settledTokens is how many tokens of the run's steps the sums have in them.
   */
  settledTokens?: number;
}

/**
 * RequesterBudget is what the runs of one requester spent in a day.
 */
export interface RequesterBudget {
  /**
   * cost that was spent or is reserved.
   */
  cost?: string;
  /**
   * name of the requester, or the hash of a name that is too long or cannot be shown.
   */
  name: string;
  /**
   * raises are what people added to the bound in this day.
   */
  raises?: BudgetRaise[];
  /**
   * tokens that were spent or are reserved.
   */
  tokens?: number;
}

/**
 * budget is what the runs of the namespace have spent, unset where no bound of spec.budget is about all of them.
 */
export interface MotorCortexStatusBudget {
  /**
   * currency of the costs. With another one the sums begin anew.
   */
  currency?: string;
  /**
   * day is the latest day of UTC in which a run spent something.
   */
  day?: MotorCortexStatusBudgetDay;
  /**
   * month is the latest month of UTC in which a run spent something.
   */
  month?: MotorCortexStatusBudgetMonth;
  /**
   * open are the shares of runs that ask a model now. They are part of all sums, and what a run did not use of its share is taken out when
   * it pauses.
   */
  open?: BudgetShare[];
  /**
   * requesters have an entry each for what their runs spent in the day. If there are too many, the others share the entry "*".
   */
  requesters?: RequesterBudget[];
}

/**
 * Condition contains details for one aspect of the current state of this API Resource.
 */
export interface MotorCortexStatusConditions {
  /**
   * lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition
   * changed. If that is not known, then using the time when the API field changed is acceptable.
   */
  lastTransitionTime: string;
  /**
   * message is a human readable message indicating details about the transition. This may be an empty string.
   */
  message: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
   * currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
   * the instance.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
   * types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
   * be a CamelCase string. This field may not be empty.
   */
  reason: string;
  /**
   * status of the condition, one of True, False, Unknown.
   */
  status: "True" | "False" | "Unknown";
  /**
   * type of condition in CamelCase or in foo.example.com/CamelCase.
   */
  type: string;
}

/**
 * EnergyOpen is a run that has drained its base and is not settled.
 */
export interface EnergyOpen {
  /**
   * base that was drained when the run was accepted.
   */
  base: string;
  /**
   * freeIterations is how many answers of the model the base pays for.
   */
  freeIterations?: number;
  /**
   * kind of the run.
   */
  kind: "Oneshot" | "OneshotNetwork" | "Agentic" | "AgenticBrowser";
  /**
   * perIteration is drained for each further answer, when the run has ended; unset means nothing.
   */
  perIteration?: string;
  /**
   * runName is the name of the run.
   */
  runName: string;
  /**
   * runUID is the UID of the run. It drains only once.
   */
  runUID: string;
  /**
   * time at which it was drained.
   */
  time: string;
}

/**
 * EnergyPossible says from when on a kind of run is possible.
 */
export interface EnergyPossible {
  /**
   * kind of the runs.
   */
  kind: "Oneshot" | "OneshotNetwork" | "Agentic" | "AgenticBrowser";
  /**
   * minimumLevel is the level that they need.
   */
  minimumLevel: string;
  /**
   * time from which on the level is enough, unset if it never will be.
   */
  time?: string;
}

/**
 * EnergySettled is a run that was settled.
 */
export interface EnergySettled {
  /**
   * base that was drained when it was accepted.
   */
  base: string;
  /**
   * consumed is what it cost altogether. It is 0 if the run ended before it was accepted: the base was given back.
   */
  consumed: string;
  /**
   * kind of the run.
   */
  kind: "Oneshot" | "OneshotNetwork" | "Agentic" | "AgenticBrowser";
  /**
   * runName is the name of the run.
   */
  runName: string;
  /**
   * runUID is the UID of the run.
   */
  runUID: string;
  /**
   * time at which it was settled.
   */
  time: string;
}

/**
 * energy is how much the body has, and what drained it; unset while spec.energy is.
 */
export interface MotorCortexStatusEnergy {
  /**
   * level at observedTime.
   */
  level: string;
  /**
   * observedTime is up to when regeneration is in level. What came back since then is not. It never goes back, even if the clock does, but
   * for one that is further ahead than the time of a whole regeneration.
   */
  observedTime: string;
  /**
   * open are the runs that have drained their base and are not settled: they have not ended, or have ended just now.
   */
  open?: EnergyOpen[];
  /**
   * possible says from when on the level is enough for each kind of run, if nothing else drains it.
   */
  possible?: EnergyPossible[];
  /**
   * recent are the runs that were settled last, the latest first.
   */
  recent?: EnergySettled[];
  /**
   * regenerationPerHour is how much comes back in an hour from observedTime on.
   */
  regenerationPerHour: string;
}

/**
 * Condition contains details for one aspect of the current state of this API Resource.
 */
export interface SinkStatusConditions {
  /**
   * lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition
   * changed. If that is not known, then using the time when the API field changed is acceptable.
   */
  lastTransitionTime: string;
  /**
   * message is a human readable message indicating details about the transition. This may be an empty string.
   */
  message: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
   * currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
   * the instance.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
   * types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
   * be a CamelCase string. This field may not be empty.
   */
  reason: string;
  /**
   * status of the condition, one of True, False, Unknown.
   */
  status: "True" | "False" | "Unknown";
  /**
   * type of condition in CamelCase or in foo.example.com/CamelCase.
   */
  type: string;
}

/**
 * SinkStatus says how a sink takes its signals.
 */
export interface SinkStatus {
  /**
   * conditions are what programs read: SinkReady.
   */
  conditions?: SinkStatusConditions[];
  /**
   * dropped is how many signals the sink was not told: those that it refused for good, and those of deleted runs for which there was no
   * room or whose end is not known.
   */
  dropped?: number;
  /**
   * lastDeliveryTime is when the sink last took a signal, as far as it was written.
   */
  lastDeliveryTime?: string;
  /**
   * lastFailure says why. Of a sink outside of the cluster it has the code of the answer.
   */
  lastFailure?: string;
  /**
   * lastFailureTime is when it last did not, as far as it was written.
   */
  lastFailureTime?: string;
  /**
   * name of the sink.
   */
  name: string;
  /**
   * settledTime is the instant before which nothing is left to tell the sink. A manager that begins to lead tells it what happened later.
   */
  settledTime?: string;
}

/**
 * storage is what the runs of the namespace keep in the cluster.
 */
export interface MotorCortexStatusStorage {
  /**
   * max is the most that they may keep: spec.retention.maxStorage or its default.
   */
  max: (number | string);
  /**
   * used is about how many bytes they keep, with their steps and artifacts. It is written anew when it has changed by a twentieth of max.
   */
  used: (number | string);
}

/**
 * MotorCortexStatus reports whether runs of the namespace find the services that the MotorCortex names. The operator checks them when the
 * spec changes and every five minutes, every minute while one of them is not available.
 */
export interface MotorCortexStatus {
  /**
   * budget is what the runs of the namespace have spent, unset where no bound of spec.budget is about all of them.
   */
  budget?: MotorCortexStatusBudget;
  /**
   * conditions are what programs read: Ready, StorageAvailable, NotificationsReady, and one for each service that is configured.
   */
  conditions?: MotorCortexStatusConditions[];
  /**
   * energy is how much the body has, and what drained it; unset while spec.energy is.
   */
  energy?: MotorCortexStatusEnergy;
  /**
   * model is the name of the model that drives the runs of the namespace which name none themselves, unset if there is none.
   */
  model?: string;
  /**
   * observedGeneration is the generation of the spec that this status speaks of.
   */
  observedGeneration?: number;
  /**
   * receivers say the same of each of spec.notifications.receivers.
   */
  receivers?: SinkStatus[];
  /**
   * sinks say how each of spec.signals.sinks takes its signals. It is written when a sink begins to fail or to take signals again, and else
   * at most once a minute, and once an hour while nothing is delivered.
   */
  sinks?: SinkStatus[];
  /**
   * storage is what the runs of the namespace keep in the cluster.
   */
  storage?: MotorCortexStatusStorage;
}

/**
 * MotorCortex is an agent's body: the models and defaults of the runs in its namespace.
 */
export interface MotorCortex {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * MotorCortexSpec is what the runs of a namespace have in common.
   */
  spec: MotorCortexSpec;
  /**
   * MotorCortexStatus reports whether runs of the namespace find the services that the MotorCortex names. The operator checks them when the
   * spec changes and every five minutes, every minute while one of them is not available.
   */
  status?: MotorCortexStatus;
}

/**
 * AcceptCommand is a command that must end with status 0.
 */
export interface AcceptCommand {
  /**
   * command line, run by bash -c in the workspace.
   */
  command: string;
  /**
   * timeoutSeconds until the command and everything that it started is killed, which counts as failed.
   */
  timeoutSeconds?: number;
}

/**
 * accept says what must hold before the run counts as done. The policy of an approved skill may ask for more.
 */
export interface MotorRunSpecAccept {
  /**
   * commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or not
   * the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
   */
  commands?: AcceptCommand[];
  /**
   * files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
   */
  files?: string[];
  /**
   * valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
   * $defs of the schema itself.
   */
  valueSchema?: string;
}

/**
 * bash says which commands need approval.
 */
export interface MotorRunSpecApprovalBash {
  /**
   * commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever else
   * it has; so does one that cannot be told before it runs.
   */
  commands: string[];
}

/**
 * fetch says which requests need approval.
 */
export interface MotorRunSpecApprovalFetch {
  /**
   * methods of the requests.
   */
  methods: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
}

/**
 * approval says what needs a person.
 */
export interface MotorRunSpecApproval {
  /**
   * bash says which commands need approval.
   */
  bash?: MotorRunSpecApprovalBash;
  /**
   * fetch says which requests need approval.
   */
  fetch?: MotorRunSpecApprovalFetch;
  /**
   * mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
   */
  mcpTools?: string[];
  /**
   * onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
   * told (Model). Calls that only read are made again without asking anybody.
   */
  onUnknown?: "Person" | "Model";
  /**
   * required says which tool calls a person must approve before they are made. The rules below add to it.
   */
  required?: "Never" | "Irreversible" | "Always";
  /**
   * tools whose calls all need approval.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * bash narrows the bash tool.
 */
export interface MotorRunSpecBash {
  /**
   * allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told to
   * evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
   * refused. An empty list allows none; unset, any program of the image may be run.
   */
  allowedCommands?: string[];
}

/**
 * budget is the most that the run may spend on models, all attempts together. It narrows perRun of the namespace's MotorCortex, and never
 * widens it. At the bound the run waits for a person, who can raise it. A cost needs a currency and prices in the MotorCortex.
 */
export interface MotorRunSpecBudget {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * code is what a Oneshot run executes.
 */
export interface MotorRunSpecCode {
  /**
   * expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two: status.result.summary
   * repeats the description.
   */
  expectedOutput?: string;
  /**
   * language of the source.
   */
  language: "javascript" | "python";
  /**
   * purpose says for people why the code is run. kubectl get -o wide shows it.
   */
  purpose?: string;
  /**
   * source is the program.
   */
  source: string;
  /**
   * timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
   */
  timeoutMilliseconds?: number;
}

/**
 * secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on that Secret.
 */
export interface CredentialSecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * slot is where in a request the value belongs.
 */
export interface CredentialSlot {
  /**
   * name of the header or of the parameter in the query.
   */
  name?: string;
  /**
   * type of the slot: Bearer or Basic (the header Authorization; for Basic the value is user:password), Header or Query.
   */
  type?: "Bearer" | "Basic" | "Header" | "Query";
}

/**
 * Credential is a Secret that the run may use without seeing it.
 */
export interface Credential {
  /**
   * exposeToSandbox puts the value itself into the environment variable, for what is not HTTP. The sandbox, and with it the model, can read
   * it then. The creator of the run needs the verb approve on MotorRuns.
   */
  exposeToSandbox?: boolean;
  /**
   * hosts are the only ones that the value is sent to. Each must be within domains.
   */
  hosts?: string[];
  /**
   * name by which the model knows it, as <credential:name>. Programs in the sandbox find a stand-in for the value in the environment
   * variable of that name in upper case.
   */
  name: string;
  /**
   * secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on that Secret.
   */
  secretRef: CredentialSecretRef;
  /**
   * slot is where in a request the value belongs.
   */
  slot?: CredentialSlot;
}

/**
 * dependencies are what a run of mode Install installs.
 */
export interface MotorRunSpecDependencies {
  /**
   * apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of theirs is run
   * when they are unpacked.
   */
  apt?: string[];
  /**
   * npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
   */
  npm?: string[];
  /**
   * pip packages, as in requests==2.32.3 or name[extra]==1.0.
   */
  pip?: string[];
}

/**
 * artifactRef names an artifact of an earlier run in this namespace.
 */
export interface InputFileArtifactRef {
  /**
   * digest is "sha256:…" of the content that is meant: "sha256:" and sha256 of status.result.artifacts. Any other content is not put into
   * the workspace: the run has left another file since.
   */
  digest?: string;
  /**
   * path of the artifact, as status.result.artifacts has it.
   */
  path: string;
  /**
   * runName that has it in status.result.artifacts.
   */
  runName: string;
}

/**
 * configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
 */
export interface InputFileConfigMapKeyRef {
  /**
   * digest is "sha256:…" of the content that is meant. Any other content is not put into the workspace: the ConfigMap was changed.
   */
  digest?: string;
  /**
   * key in data or binaryData.
   */
  key: string;
  /**
   * name of the ConfigMap.
   */
  name: string;
}

/**
 * InputFile is a file for the workspace.
 */
export interface InputFile {
  /**
   * artifactRef names an artifact of an earlier run in this namespace.
   */
  artifactRef?: InputFileArtifactRef;
  /**
   * configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
   */
  configMapKeyRef?: InputFileConfigMapKeyRef;
  /**
   * content of the file.
   */
  content?: string;
  /**
   * path in the workspace, with / between folders.
   */
  path: string;
}

/**
 * RunInput is a value for an input of the skill.
 */
export interface RunInput {
  /**
   * name of the input.
   */
  name: string;
  /**
   * value, in the form that its type has in JSON, without quotes: 3, true, some text.
   */
  value: string;
}

/**
 * limits bound the run.
 */
export interface MotorRunSpecLimits {
  /**
   * activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits for people,
   * for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
   */
  activeDeadlineSeconds?: number;
  /**
   * approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run
   * goes on.
   */
  approvalDeadlineSeconds?: number;
  /**
   * inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
   */
  inputDeadlineSeconds?: number;
  /**
   * maxIterations is the most answers that the model may give in the first attempt; further attempts have three quarters of that. When the
   * conversation fills 60 % of the model's window, its largest older results are shortened, and where that is not enough its older part is
   * replaced by a summary.
   */
  maxIterations?: number;
  /**
   * maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there is no
   * such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
   */
  maxTokens?: number;
  /**
   * retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
   */
  retryDeadlineSeconds?: number;
}

/**
 * MCPServer is a server of the Model Context Protocol. Its tools are called mcp__NAME__TOOL.
 */
export interface MCPServer {
  /**
   * command starts a server in the sandbox that speaks on standard input and output: a program and its arguments.
   */
  command?: string[];
  /**
   * credentialName is the name of one of spec.credentials, whose slot must be of type Bearer: it goes with every request to url.
   */
  credentialName?: string;
  /**
   * name of the server, for the names of its tools.
   */
  name: string;
  /**
   * tools of the server that the model may use. No others are offered.
   */
  tools: string[];
  /**
   * url of a server that speaks Streamable HTTP. Its host must be one of the run's domains: the sandbox reaches it through the egress
   * proxy, like everything else.
   */
  url?: string;
}

/**
 * model chooses the model; unset, the namespace's MotorCortex does.
 */
export interface MotorRunSpecModel {
  /**
   * name is asked of the same endpoint instead of the configured model.
   */
  name: string;
}

/**
 * questions says how the questions of the model are dealt with.
 */
export interface MotorRunSpecQuestions {
  /**
   * onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the default
   * that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
   */
  onTimeout?: "Fail" | "Deny" | "UseDefault";
}

/**
 * requester is who created the run. Admission fills it in, where the cluster can, and refuses any other.
 */
export interface MotorRunSpecRequester {
  /**
   * groups of the user.
   */
  groups?: string[];
  /**
   * username of the user.
   */
  username: string;
}

/**
 * budget is the amount by which the decision Raise raises the bound.
 */
export interface MotorRunSpecResponsesBudget {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * artifactRef names an artifact of another run in this namespace.
 */
export interface ResponseFileArtifactRef {
  /**
   * digest is "sha256:…" of the content that is meant: "sha256:" and sha256 of status.result.artifacts. Any other content is not put into
   * the workspace: the run has left another file since.
   */
  digest?: string;
  /**
   * path of the artifact, as status.result.artifacts has it.
   */
  path: string;
  /**
   * runName that has it in status.result.artifacts.
   */
  runName: string;
}

/**
 * configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
 */
export interface ResponseFileConfigMapKeyRef {
  /**
   * digest is "sha256:…" of the content that is meant. Any other content is not put into the workspace: the ConfigMap was changed.
   */
  digest?: string;
  /**
   * key in data or binaryData.
   */
  key: string;
  /**
   * name of the ConfigMap.
   */
  name: string;
}

/**
 * ResponseFile is a file that goes with an answer.
 */
export interface ResponseFile {
  /**
   * artifactRef names an artifact of another run in this namespace.
   */
  artifactRef?: ResponseFileArtifactRef;
  /**
   * binaryContent of any other file, in base64.
   */
  binaryContent?: string;
  /**
   * configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
   */
  configMapKeyRef?: ResponseFileConfigMapKeyRef;
  /**
   * content of a file that is text.
   */
  content?: string;
  /**
   * path below the folder answers of the workspace, with / between folders. No part of it begins with a dot. It has 255 bytes at most.
   */
  path: string;
}

/**
 * Response answers one question.
 */
export interface MotorRunSpecResponses {
  /**
   * addDomains are hosts that the sandbox may reach from the next attempt on. They need the verb approve on the run.
   */
  addDomains?: string[];
  /**
   * answer is given to the model, word for word.
   */
  answer?: string;
  /**
   * budget is the amount by which the decision Raise raises the bound.
   */
  budget?: MotorRunSpecResponsesBudget;
  /**
   * decision about an input of another kind than Question. AllowOnce, AllowRun, ApproveOnce, ApproveRun, Deny and Raise need the verb
   * approve on the run. The others, and answers, need the verb respond.
   */
  decision?: "AllowOnce" | "AllowRun" | "ApproveOnce" | "ApproveRun" | "Deny" | "Retry" | "Skip" | "Done" | "Stop" | "Raise";
  /**
   * digest of the tool call that is approved or denied: status.pendingInputs[].action.argsDigest.
   */
  digest?: string;
  /**
   * files go with the answer: they are put into the folder answers of the workspace before the model reads it. The person who answers must
   * be allowed to get the objects that they name.
   */
  files?: ResponseFile[];
  /**
   * guidance tells the model of the next attempt what to do differently. It goes with the decision Retry about an attempt that failed.
   */
  guidance?: string;
  /**
   * id of the question: status.pendingInputs[].id.
   */
  id: string;
  /**
   * reason of any other decision than Retry. The model is told it as the words of the person, and the end of a run that was stopped has it.
   */
  reason?: string;
  /**
   * respondedBy is who answered. Admission fills it in, where the cluster can, and refuses any other name.
   */
  respondedBy?: string;
}

/**
 * resources are the limits of the sandbox. Requests are a tenth of the CPU and a quarter of the memory.
 */
export interface MotorRunSpecSandboxResources {
  /**
   * cpu is the most processor time: default 1.
   */
  cpu?: (number | string);
  /**
   * memory is the most memory, the files in the sandbox's /tmp not counted: default 1Gi.
   */
  memory?: (number | string);
  /**
   * workspace is the most that the files in the workspace may have: default 1Gi.
   */
  workspace?: (number | string);
}

/**
 * sandbox changes the sandbox's shape.
 */
export interface MotorRunSpecSandbox {
  /**
   * resources are the limits of the sandbox. Requests are a tenth of the CPU and a quarter of the memory.
   */
  resources?: MotorRunSpecSandboxResources;
  /**
   * runtimeClassName is the RuntimeClass of the Pod, gvisor for example.
   */
  runtimeClassName?: string;
  /**
   * workspaceStorageClassName is the StorageClass of a volume that holds the workspace alone, as large as resources.workspace, which it can
   * then in no way exceed. The volume comes and goes with the Pod. The namespace's MotorCortex must list the class in
   * sandbox.allowedStorageClasses. Unset, the workspace is a folder on the node's disk, which the tool server bounds.
   */
  workspaceStorageClassName?: string;
}

/**
 * skillRef is the skill that the run uses. Its policy gives the run its tools, domains and credentials; a run that names some itself has no
 * others. A skill that is not approved can be used with what the run itself names only.
 */
export interface MotorRunSpecSkillRef {
  /**
   * name of the Skill in this namespace.
   */
  name: string;
  /**
   * revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
   */
  revisionName?: string;
}

/**
 * MotorRunSpec is one task to carry out. Only responses, suspend, ttlSecondsAfterFinished and cancel may change after creation, and origin
 * of a copy.
 */
export interface MotorRunSpec {
  /**
   * accept says what must hold before the run counts as done. The policy of an approved skill may ask for more.
   */
  accept?: MotorRunSpecAccept;
  /**
   * approval says what needs a person.
   */
  approval?: MotorRunSpecApproval;
  /**
   * bash narrows the bash tool.
   */
  bash?: MotorRunSpecBash;
  /**
   * budget is the most that the run may spend on models, all attempts together. It narrows perRun of the namespace's MotorCortex, and never
   * widens it. At the bound the run waits for a person, who can raise it. A cost needs a currency and prices in the MotorCortex.
   */
  budget?: MotorRunSpecBudget;
  /**
   * cancel ends the run, in any phase, for ever.
   */
  cancel?: boolean;
  /**
   * cancelledBy is who set cancel. Admission fills it in, where the cluster can, and refuses any other name.
   */
  cancelledBy?: string;
  /**
   * code is what a Oneshot run executes.
   */
  code?: MotorRunSpecCode;
  /**
   * credentials are Secrets that the run may use for the hosts that each is bound to. Neither the model nor the sandbox sees a value: the
   * egress proxy puts it into the requests.
   */
  credentials?: Credential[];
  /**
   * dependencies are what a run of mode Install installs.
   */
  dependencies?: MotorRunSpecDependencies;
  /**
   * domains are the only hosts that the sandbox may reach: example.org, *.example.org (its subdomains, not itself), example.org:8443. The
   * port is 443 if none is given.
   */
  domains?: string[];
  /**
   * extractSkills says when skills that the run wrote or changed are kept as proposals.
   */
  extractSkills?: "OnSuccess" | "Always" | "Never";
  /**
   * files are put into the workspace before the first step. Those with content have 512 KiB together in JSON.
   */
  files?: InputFile[];
  /**
   * inputs are values for the inputs of the skill.
   */
  inputs?: RunInput[];
  /**
   * keep says what of the workspace is kept, at each end of the run and whenever it waits for a person. Without a model nothing is.
   */
  keep?: "Changes" | "Artifacts" | "Nothing";
  /**
   * limits bound the run.
   */
  limits?: MotorRunSpecLimits;
  /**
   * maxAttempts is how many attempts at the task there may be, the first one included. After an attempt that failed the run waits for a
   * decision in responses, unless it was the last one. Attempts that the operator makes by itself, because the sandbox was lost, do not
   * count.
   */
  maxAttempts?: number;
  /**
   * mcpServers are servers of the Model Context Protocol whose tools the model may use.
   */
  mcpServers?: MCPServer[];
  /**
   * mode is Agentic (a model decides what is done) or Oneshot (one piece of code, no model).
   */
  mode?: "Agentic" | "Oneshot" | "Install";
  /**
   * model chooses the model; unset, the namespace's MotorCortex does.
   */
  model?: MotorRunSpecModel;
  /**
   * origin is Created, or Copied for a run that was made of a copy of another one, from a backup for example: it may have been carried out
   * already, so it waits until a person sets Released. The API server fills it in, where the cluster can, over whatever the client wrote.
   */
  origin?: "Created" | "Copied" | "Released";
  /**
   * priority orders the runs that wait for their turn in the namespace: the highest first, among equals the oldest.
   */
  priority?: number;
  /**
   * questions says how the questions of the model are dealt with.
   */
  questions?: MotorRunSpecQuestions;
  /**
   * requester is who created the run. Admission fills it in, where the cluster can, and refuses any other.
   */
  requester?: MotorRunSpecRequester;
  /**
   * responses answer what the run asked in status.pendingInputs. An entry can be added, never changed or removed. The answers have 256 KiB
   * together in JSON, with reasons, guidance and files.
   */
  responses?: MotorRunSpecResponses[];
  /**
   * sandbox changes the sandbox's shape.
   */
  sandbox?: MotorRunSpecSandbox;
  /**
   * skillRef is the skill that the run uses. Its policy gives the run its tools, domains and credentials; a run that names some itself has
   * no others. A skill that is not approved can be used with what the run itself names only.
   */
  skillRef?: MotorRunSpecSkillRef;
  /**
   * skillReview has the model look at the files of skillRef and say what it thinks of them, with tools that only read and without a
   * network, in one attempt of 10 answers at most. Its task is the operator's own; spec.task is a note for people. What it says is stored
   * with the SkillRevision, as advice, with who made the run.
   */
  skillReview?: boolean;
  /**
   * suspend stops the run where it is, and starts it again from there when it is taken back. The sandbox stays. A run that is created
   * suspended does not start. The time does not count for activeDeadlineSeconds.
   */
  suspend?: boolean;
  /**
   * suspendedBy is who set suspend. Admission fills it in, where the cluster can, and refuses any other name.
   */
  suspendedBy?: string;
  /**
   * task says in plain language what is to be done.
   */
  task?: string;
  /**
   * tools are what the model may use. Nothing else is offered to it, but for ask_user and finish, which always are.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
  /**
   * ttlSecondsAfterFinished is how long the run is kept after its end, and its steps with it. Unset, the namespace's MotorCortex decides;
   * without one, a run that succeeded is kept for a day and any other for a week, of mode Oneshot either for 10 minutes.
   */
  ttlSecondsAfterFinished?: number;
}

/**
 * archive says where the steps are that are not in the cluster any more.
 */
export interface MotorRunStatusArchive {
  /**
   * head is "sha256:…" of the last link of its chain: with it, a cut at the end is seen.
   */
  head: string;
  /**
   * key of the object in the bucket.
   */
  key: string;
  /**
   * steps is how many it holds.
   */
  steps: number;
}

/**
 * Artifact is a file that a run leaves behind.
 */
export interface Artifact {
  /**
   * configMapName in this namespace whose key "content" has it: text in data, other content in binaryData.
   */
  configMapName?: string;
  /**
   * mediaType by its name and its first bytes.
   */
  mediaType?: string;
  /**
   * message says more about that.
   */
  message?: string;
  /**
   * objectKey is the key of it in the manager's bucket.
   */
  objectKey?: string;
  /**
   * path in the workspace.
   */
  path: string;
  /**
   * provenance is Web if the content may come from the web.
   */
  provenance?: "Web" | "Internal";
  /**
   * sha256 of the content in hexadecimal digits.
   */
  sha256?: string;
  /**
   * size in bytes.
   */
  size?: number;
  /**
   * skipped says why it is not kept.
   */
  skipped?: "TooLarge" | "LimitReached" | "SecretFound" | "NotRegular" | "Unreadable" | "NotStored";
}

/**
 * failure says why it ended without success.
 */
export interface AttemptStatusFailure {
  /**
   * category is the kind of failure.
   */
  category: "ToolFailure" | "ModelFailure" | "InfraFailure" | "BudgetExhausted" | "InvalidTask" | "Incomplete" | "Unknown";
  /**
   * hint is a model's guess at the cause and the cure, and not more than that.
   */
  hint?: string;
  /**
   * lastStepName is the last step before the failure, by name.
   */
  lastStepName?: string;
  /**
   * message is for people.
   */
  message?: string;
  /**
   * reason is a CamelCase word for programs.
   */
  reason: string;
  /**
   * retryable is true if another attempt may succeed although nothing was changed. It does not say that this run may have one: after a
   * timeout, that is another run.
   */
  retryable?: boolean;
  /**
   * suggestedAction is what to do about it.
   */
  suggestedAction?: "RetryWithGuidance" | "AskUser" | "Stop";
}

/**
 * CallHead is the head of a tool call and its result.
 */
export interface CallHead {
  /**
   * durationMilliseconds is how long the call took, in milliseconds.
   */
  durationMilliseconds?: number;
  /**
   * errorCode is a word for programs.
   */
  errorCode?: string;
  /**
   * head is the beginning of the output.
   */
  head?: string;
  /**
   * id of the call.
   */
  id: string;
  /**
   * ok is false if the tool failed, or has no result.
   */
  ok: boolean;
  /**
   * startTime is set if the call has no result: when it began. In an attempt that has ended it never got one.
   */
  startTime?: string;
  /**
   * tool that was called.
   */
  tool: string;
}

/**
 * usage of its model calls.
 */
export interface AttemptStatusUsage {
  /**
   * cachedTokens is the part of promptTokens that the endpoint served from its cache.
   */
  cachedTokens?: number;
  completionTokens?: number;
  /**
   * cost of the tokens by the prices of the time of the call, unset where the model has no price.
   */
  cost?: string;
  /**
   * currency of the cost.
   */
  currency?: string;
  /**
   * estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of the
   * request and of the answer.
   */
  estimated?: boolean;
  promptTokens?: number;
  /**
   * totalTokens is promptTokens and completionTokens together.
   */
  totalTokens?: number;
  /**
   * unpriced says that a part of the tokens is not in the cost, because their model had no price.
   */
  unpriced?: boolean;
}

/**
 * AttemptStatus is one attempt at the task.
 */
export interface AttemptStatus {
  /**
   * cause says why it was made.
   */
  cause?: "First" | "Retry" | "Infrastructure";
  /**
   * completionTime is when it ended.
   */
  completionTime?: string;
  /**
   * failure says why it ended without success.
   */
  failure?: AttemptStatusFailure;
  /**
   * index is the number of the attempt. The first one is 1.
   */
  index: number;
  /**
   * iterations is how many answers the model gave in it.
   */
  iterations?: number;
  /**
   * lastCalls are its last tool calls, the newest last.
   */
  lastCalls?: CallHead[];
  /**
   * recoveryContext is what the model is told of the attempts before, in its system prompt.
   */
  recoveryContext?: string;
  /**
   * startTime is when the attempt began.
   */
  startTime?: string;
  /**
   * usage of its model calls.
   */
  usage?: AttemptStatusUsage;
}

/**
 * Condition contains details for one aspect of the current state of this API Resource.
 */
export interface MotorRunStatusConditions {
  /**
   * lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition
   * changed. If that is not known, then using the time when the API field changed is acceptable.
   */
  lastTransitionTime: string;
  /**
   * message is a human readable message indicating details about the transition. This may be an empty string.
   */
  message: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
   * currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
   * the instance.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
   * types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
   * be a CamelCase string. This field may not be empty.
   */
  reason: string;
  /**
   * status of the condition, one of True, False, Unknown.
   */
  status: "True" | "False" | "Unknown";
  /**
   * type of condition in CamelCase or in foo.example.com/CamelCase.
   */
  type: string;
}

/**
 * egress is what the sandbox may reach, unset while it may reach nothing.
 */
export interface MotorRunStatusEgress {
  /**
   * attempt that the proxy knows the sandbox's token of. The first one is 1.
   */
  attempt?: number;
  /**
   * credentials are the names of those that the proxy puts in now, or that the sandbox was given (exposeToSandbox).
   */
  credentials?: string[];
  /**
   * domains that the egress proxy lets the sandbox reach now.
   */
  domains?: string[];
  /**
   * proxy is the address of the egress proxy, IP:port.
   */
  proxy?: string;
}

/**
 * failure is set if the run fails for a reason that no step tells of.
 */
export interface MotorRunStatusEndingFailure {
  /**
   * category is the kind of failure.
   */
  category: "ToolFailure" | "ModelFailure" | "InfraFailure" | "BudgetExhausted" | "InvalidTask" | "Incomplete" | "Unknown";
  /**
   * hint is a model's guess at the cause and the cure, and not more than that.
   */
  hint?: string;
  /**
   * lastStepName is the last step before the failure, by name.
   */
  lastStepName?: string;
  /**
   * message is for people.
   */
  message?: string;
  /**
   * reason is a CamelCase word for programs.
   */
  reason: string;
  /**
   * retryable is true if another attempt may succeed although nothing was changed. It does not say that this run may have one: after a
   * timeout, that is another run.
   */
  retryable?: boolean;
  /**
   * suggestedAction is what to do about it.
   */
  suggestedAction?: "RetryWithGuidance" | "AskUser" | "Stop";
}

/**
 * ending is set from the moment in which the end of the run was decided until what it leaves behind was collected.
 */
export interface MotorRunStatusEnding {
  /**
   * decisionTime is when the end was decided.
   */
  decisionTime: string;
  /**
   * failure is set if the run fails for a reason that no step tells of.
   */
  failure?: MotorRunStatusEndingFailure;
  /**
   * message says what happened, unset where the last step does.
   */
  message?: string;
  /**
   * reason of the conditions Succeeded and Finished that the run will have.
   */
  reason: string;
}

/**
 * energy is what the run drains from the energy of its namespace, unset where that is not configured.
 */
export interface MotorRunStatusEnergy {
  /**
   * base that was drained when the run was accepted.
   */
  base: string;
  /**
   * consumed is what the run cost altogether, unset until it has ended.
   */
  consumed?: string;
  /**
   * freeIterations is how many answers of the model the base pays for.
   */
  freeIterations?: number;
  /**
   * kind of the run.
   */
  kind: "Oneshot" | "OneshotNetwork" | "Agentic" | "AgenticBrowser";
  /**
   * perIteration is drained for each further answer, when the run has ended; unset means nothing.
   */
  perIteration?: string;
}

/**
 * execution says which replica of the manager carries the run on.
 */
export interface MotorRunStatusExecution {
  /**
   * epoch counts how often the run was given to a worker. Journal and sandbox refuse a lower one.
   */
  epoch?: number;
  /**
   * worker is the replica of the manager that carries the run on.
   */
  worker?: string;
}

/**
 * losses are the ends of workers that carried the run on and did not give it back; unset, there were none lately.
 */
export interface MotorRunStatusLosses {
  /**
   * aloneEpoch is the epoch in which a worker carries on this run alone, unset while none does.
   */
  aloneEpoch?: number;
  /**
   * aloneStartTime is since when.
   */
  aloneStartTime?: string;
  /**
   * count is how many workers in succession, at most ten minutes apart, ended while they carried the run on and did not give it back. From
   * 2 on the run is carried on by a worker that carries on nothing else.
   */
  count?: number;
  /**
   * lastLossTime is when the last of them was found to have ended.
   */
  lastLossTime?: string;
  /**
   * setAside says that two workers in succession ended that carried on nothing else: the run is carried on again when it was suspended and
   * resumed.
   */
  setAside?: boolean;
  /**
   * trials is how often the run was carried on alone.
   */
  trials?: number;
  /**
   * trialsLost is how many of them in succession, up to the last one, ended with the end of the worker.
   */
  trialsLost?: number;
}

/**
 * paused counts the time that does not count for spec.limits.activeDeadlineSeconds, questions of the model not included.
 */
export interface MotorRunStatusPaused {
  /**
   * durationSeconds of all pauses that are over.
   */
  durationSeconds?: number;
  /**
   * observedTime is the end of the last time without a manager that led which was counted; unset, the run lived through none.
   */
  observedTime?: string;
  /**
   * startTime is when the present pause began, unset while there is none.
   */
  startTime?: string;
}

/**
 * action is the tool call that is to be approved, set for kind Approval.
 */
export interface PendingInputAction {
  /**
   * argsDigest is "sha256:…" of tool and arguments. A response names it, so that it can only be about this call.
   */
  argsDigest: string;
  /**
   * arguments in canonical JSON, with sorted keys and everything escaped that could deceive the eye. If they are longer than fits here, the
   * middle is left out; the step has them whole.
   */
  arguments?: string;
  /**
   * check says that the call is a command of spec.accept, and not the model's.
   */
  check?: boolean;
  /**
   * reason says by which rule it needs approval, and what of the call the rule is about.
   */
  reason?: string;
  /**
   * rule that ApproveRun approves for the run, unset where only this call can be approved.
   */
  rule?: string;
  /**
   * tool that is called.
   */
  tool: string;
}

/**
 * raiseBy is the amount that is proposed, set for kind BudgetExhausted. A response can name another one.
 */
export interface PendingInputRaiseBy {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * PendingInput is what a run waits for.
 */
export interface PendingInput {
  /**
   * action is the tool call that is to be approved, set for kind Approval.
   */
  action?: PendingInputAction;
  /**
   * answered says that there is an answer, which is about to be put to use.
   */
  answered?: boolean;
  /**
   * askTime is when the question was asked.
   */
  askTime?: string;
  /**
   * attempt that the decision Retry starts, set for kind Retry. The id names the attempt that failed, which is the one before.
   */
  attempt?: number;
  /**
   * default is the answer that the model would choose.
   */
  default?: string;
  /**
   * domain that is asked for, set for kind DomainRequest.
   */
  domain?: string;
  /**
   * expirationTime is until when there is time for an answer.
   */
  expirationTime?: string;
  /**
   * files that the model wants with the answer to a Question, in its words. An answer may bring others, or none.
   */
  files?: string[];
  /**
   * id to answer to, in spec.responses[].id.
   */
  id: string;
  /**
   * kind of the input.
   */
  kind: "Question" | "OutcomeUnknown" | "Retry" | "DomainRequest" | "Approval" | "BudgetExhausted";
  /**
   * onTimeout is what becomes of it then: the run fails, it counts as Deny, or default counts as the answer.
   */
  onTimeout?: "Fail" | "Deny" | "UseDefault";
  /**
   * options to choose from. Another answer is allowed to a Question, and to no other kind.
   */
  options?: string[];
  /**
   * question in full.
   */
  question?: string;
  /**
   * raiseBy is the amount that is proposed, set for kind BudgetExhausted. A response can name another one.
   */
  raiseBy?: PendingInputRaiseBy;
  /**
   * stepName that asked, by name.
   */
  stepName?: string;
  /**
   * title is the beginning of the question, for a column.
   */
  title?: string;
}

/**
 * packages are what a run of mode Install installed.
 */
export interface MotorRunStatusResultPackages {
  /**
   * configMapNames of this namespace that hold the parts, in their order.
   */
  configMapNames: string[];
  /**
   * sha256 of the whole in hexadecimal digits.
   */
  sha256: string;
  /**
   * size of the whole in bytes.
   */
  size?: number;
}

/**
 * ProposedSkill is a skill that a run wrote or changed.
 */
export interface ProposedSkill {
  /**
   * changedFiles is how many files were changed or added, deletedFiles how many were deleted.
   */
  changedFiles?: number;
  deletedFiles?: number;
  /**
   * name of the Skill.
   */
  name: string;
  /**
   * revisionName that holds what the run wrote.
   */
  revisionName: string;
}

/**
 * RejectedSkill is a folder that was not taken for a skill.
 */
export interface RejectedSkill {
  /**
   * message says why.
   */
  message?: string;
  /**
   * path of the folder in the workspace, "." for the workspace itself.
   */
  path: string;
}

/**
 * skills are those that the run wrote or changed.
 */
export interface MotorRunStatusResultSkills {
  /**
   * created are new Skills.
   */
  created?: ProposedSkill[];
  /**
   * rejected are folders that were not taken.
   */
  rejected?: RejectedSkill[];
  /**
   * updated are Skills that have a new revision to be reviewed.
   */
  updated?: ProposedSkill[];
}

/**
 * stats count what it took.
 */
export interface MotorRunStatusResultStats {
  /**
   * cost of all model calls together, as far as their models have prices.
   */
  cost?: string;
  /**
   * currency of the cost.
   */
  currency?: string;
  /**
   * durationMilliseconds from the creation of the run to its end.
   */
  durationMilliseconds?: number;
  /**
   * energyCost is what the run drained from the energy of its namespace, unset where that is not configured.
   */
  energyCost?: string;
  /**
   * errors is how many of them failed.
   */
  errors?: number;
  /**
   * iterations is how many answers the model gave.
   */
  iterations?: number;
  /**
   * modelMilliseconds spent in model calls.
   */
  modelMilliseconds?: number;
  /**
   * overheadMilliseconds is the rest: starting the sandbox, writing the journal.
   */
  overheadMilliseconds?: number;
  /**
   * tokens of all model calls together.
   */
  tokens?: number;
  /**
   * toolCalls is how many tool calls ended.
   */
  toolCalls?: number;
  /**
   * toolMilliseconds spent in tool calls.
   */
  toolMilliseconds?: number;
  /**
   * waitingMilliseconds spent waiting for people.
   */
  waitingMilliseconds?: number;
}

/**
 * result is set when the run has ended.
 */
export interface MotorRunStatusResult {
  /**
   * artifacts are the files that the run leaves behind.
   */
  artifacts?: Artifact[];
  /**
   * artifactsOmitted is how many further files there were that are not listed, and not kept.
   */
  artifactsOmitted?: number;
  /**
   * notCollected says why artifacts or skills are missing that no entry of artifacts and skills names, unset if none are.
   */
  notCollected?: string;
  /**
   * ok is true if the task was done.
   */
  ok: boolean;
  /**
   * packages are what a run of mode Install installed.
   */
  packages?: MotorRunStatusResultPackages;
  /**
   * partial is what the model said that it did, or what it had to show when its answers were used up (reason MaxIterations).
   */
  partial?: string;
  /**
   * skills are those that the run wrote or changed.
   */
  skills?: MotorRunStatusResultSkills;
  /**
   * stats count what it took.
   */
  stats?: MotorRunStatusResultStats;
  /**
   * summary is the model's closing text, or why the run failed.
   */
  summary?: string;
  /**
   * value is the result as JSON. Of an Agentic run with spec.accept.valueSchema it is what the model gave, in at most 8 KiB. Of a Oneshot
   * run it is what the code came to: {"ok", "value", "console", "durationMs", "error": {"code", "message"}}. That has at most 32 KiB, and
   * 64 KiB as a JSON string. If it is longer, console is left out of it; of a value that still does not fit, the first 4 KiB of its JSON
   * are in "head", and "truncated" is true. The run's step has the same.
   */
  value?: string;
}

/**
 * sandbox is where the run's tools work.
 */
export interface MotorRunStatusSandbox {
  /**
   * creationTime is when the Pod was created.
   */
  creationTime?: string;
  /**
   * isolationLossTime is when one of its NetworkPolicies was last found changed or gone. No call is made in it before its isolation was
   * proved again after that.
   */
  isolationLossTime?: string;
  /**
   * nodeIP is the address of the Pod's node, which the sandbox must not reach.
   */
  nodeIP?: string;
  /**
   * nodeName is the Pod's node.
   */
  nodeName?: string;
  /**
   * podIP is where its tool server listens.
   */
  podIP?: string;
  /**
   * podName of the sandbox.
   */
  podName?: string;
  /**
   * podUID tells this Pod from a later one of the same name.
   */
  podUID?: string;
  /**
   * poolName is the SandboxPool that the Pod comes from, unset if it was made for the run.
   */
  poolName?: string;
}

/**
 * packages that the sandbox has.
 */
export interface MotorRunStatusSkillPackages {
  /**
   * configMapNames of this namespace that hold the parts, in their order.
   */
  configMapNames: string[];
  /**
   * sha256 of the whole in hexadecimal digits.
   */
  sha256: string;
  /**
   * size of the whole in bytes.
   */
  size?: number;
}

/**
 * accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
 */
export interface MotorRunStatusSkillPolicyAccept {
  /**
   * commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or not
   * the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
   */
  commands?: AcceptCommand[];
  /**
   * files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
   */
  files?: string[];
  /**
   * valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
   * $defs of the schema itself.
   */
  valueSchema?: string;
}

/**
 * bash says which commands need approval.
 */
export interface MotorRunStatusSkillPolicyApprovalBash {
  /**
   * commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever else
   * it has; so does one that cannot be told before it runs.
   */
  commands: string[];
}

/**
 * fetch says which requests need approval.
 */
export interface MotorRunStatusSkillPolicyApprovalFetch {
  /**
   * methods of the requests.
   */
  methods: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
}

/**
 * approval says what needs a person, beside what the run itself says.
 */
export interface MotorRunStatusSkillPolicyApproval {
  /**
   * bash says which commands need approval.
   */
  bash?: MotorRunStatusSkillPolicyApprovalBash;
  /**
   * fetch says which requests need approval.
   */
  fetch?: MotorRunStatusSkillPolicyApprovalFetch;
  /**
   * mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
   */
  mcpTools?: string[];
  /**
   * onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
   * told (Model). Calls that only read are made again without asking anybody.
   */
  onUnknown?: "Person" | "Model";
  /**
   * required says which tool calls a person must approve before they are made. The rules below add to it.
   */
  required?: "Never" | "Irreversible" | "Always";
  /**
   * tools whose calls all need approval.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * bash narrows the bash tool.
 */
export interface MotorRunStatusSkillPolicyBash {
  /**
   * allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told to
   * evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
   * refused. An empty list allows none; unset, any program of the image may be run.
   */
  allowedCommands?: string[];
}

/**
 * secretRef is the key of a Secret in this namespace that has the value. Unset, each run names its own, in spec.credentials. The creator of
 * the run needs the verb use on it.
 */
export interface SkillCredentialSecretRef {
  /**
   * key in the Secret.
   */
  key: string;
  /**
   * name of the Secret.
   */
  name: string;
}

/**
 * slot is where in a request the value belongs, as in spec.credentials of a MotorRun.
 */
export interface SkillCredentialSlot {
  /**
   * name of the header or of the parameter in the query.
   */
  name?: string;
  /**
   * type of the slot: Bearer or Basic (the header Authorization; for Basic the value is user:password), Header or Query.
   */
  type?: "Bearer" | "Basic" | "Header" | "Query";
}

/**
 * SkillCredential is a credential that a skill needs.
 */
export interface SkillCredential {
  /**
   * hosts are the only ones that the value is sent to. Each must be within domains.
   */
  hosts: string[];
  /**
   * name by which the model knows it, as <credential:name>, and that files of the skill use in upper case as an environment variable.
   */
  name: string;
  /**
   * secretRef is the key of a Secret in this namespace that has the value. Unset, each run names its own, in spec.credentials. The creator
   * of the run needs the verb use on it.
   */
  secretRef?: SkillCredentialSecretRef;
  /**
   * slot is where in a request the value belongs, as in spec.credentials of a MotorRun.
   */
  slot?: SkillCredentialSlot;
}

/**
 * dependencies are packages that are installed for the skill, before its runs.
 */
export interface MotorRunStatusSkillPolicyDependencies {
  /**
   * apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of theirs is run
   * when they are unpacked.
   */
  apt?: string[];
  /**
   * npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
   */
  npm?: string[];
  /**
   * pip packages, as in requests==2.32.3 or name[extra]==1.0.
   */
  pip?: string[];
}

/**
 * SkillInput is something that a run of the skill is given.
 */
export interface SkillInput {
  /**
   * default is the value if a run gives none.
   */
  default?: string;
  /**
   * description for the person who fills it in. A run without a required input is told it.
   */
  description?: string;
  /**
   * name of the input.
   */
  name: string;
  /**
   * options are the only values that are allowed, if there are any.
   */
  options?: string[];
  /**
   * required says that a run without a value is refused.
   */
  required?: boolean;
  /**
   * type that the value must have.
   */
  type?: "string" | "integer" | "number" | "boolean";
}

/**
 * policy that applies.
 */
export interface MotorRunStatusSkillPolicy {
  /**
   * accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
   */
  accept?: MotorRunStatusSkillPolicyAccept;
  /**
   * approval says what needs a person, beside what the run itself says.
   */
  approval?: MotorRunStatusSkillPolicyApproval;
  /**
   * bash narrows the bash tool.
   */
  bash?: MotorRunStatusSkillPolicyBash;
  /**
   * credentials that the skill needs.
   */
  credentials?: SkillCredential[];
  /**
   * dependencies are packages that are installed for the skill, before its runs.
   */
  dependencies?: MotorRunStatusSkillPolicyDependencies;
  /**
   * domains are the only hosts that the sandbox may reach.
   */
  domains?: string[];
  /**
   * inputs are what a run of the skill is given.
   */
  inputs?: SkillInput[];
  /**
   * tools that the model may use.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * skill that the run uses, as it was when the run was accepted.
 */
export interface MotorRunStatusSkill {
  /**
   * approved says that the skill was approved, so that its policy applies. Otherwise the run has what its own spec says and nothing of the
   * policy but inputs.
   */
  approved?: boolean;
  /**
   * contentHash of the revision.
   */
  contentHash: string;
  /**
   * name of the Skill.
   */
  name: string;
  /**
   * packages that the sandbox has.
   */
  packages?: MotorRunStatusSkillPackages;
  /**
   * policy that applies.
   */
  policy?: MotorRunStatusSkillPolicy;
  /**
   * policyHash of the policy that applies, "" if none does.
   */
  policyHash?: string;
  /**
   * revisionName whose files the run has.
   */
  revisionName: string;
}

/**
 * usage is what all model calls together cost.
 */
export interface MotorRunStatusUsage {
  /**
   * cachedTokens is the part of promptTokens that the endpoint served from its cache.
   */
  cachedTokens?: number;
  completionTokens?: number;
  /**
   * cost of the tokens by the prices of the time of the call, unset where the model has no price.
   */
  cost?: string;
  /**
   * currency of the cost.
   */
  currency?: string;
  /**
   * estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of the
   * request and of the answer.
   */
  estimated?: boolean;
  promptTokens?: number;
  /**
   * totalTokens is promptTokens and completionTokens together.
   */
  totalTokens?: number;
  /**
   * unpriced says that a part of the tokens is not in the cost, because their model had no price.
   */
  unpriced?: boolean;
}

/**
 * MotorRunStatus is what the operator knows of a run. It is derived from the spec, the steps and the Pod.
 */
export interface MotorRunStatus {
  /**
   * archive says where the steps are that are not in the cluster any more.
   */
  archive?: MotorRunStatusArchive;
  /**
   * artifacts are the files that were collected when the run paused last. At the end they are in result.
   */
  artifacts?: Artifact[];
  /**
   * attempts at the task, the first one first.
   */
  attempts?: AttemptStatus[];
  /**
   * completionTime is when the run ended.
   */
  completionTime?: string;
  /**
   * conditions are what programs read.
   */
  conditions?: MotorRunStatusConditions[];
  /**
   * egress is what the sandbox may reach, unset while it may reach nothing.
   */
  egress?: MotorRunStatusEgress;
  /**
   * ending is set from the moment in which the end of the run was decided until what it leaves behind was collected.
   */
  ending?: MotorRunStatusEnding;
  /**
   * energy is what the run drains from the energy of its namespace, unset where that is not configured.
   */
  energy?: MotorRunStatusEnergy;
  /**
   * execution says which replica of the manager carries the run on.
   */
  execution?: MotorRunStatusExecution;
  /**
   * losses are the ends of workers that carried the run on and did not give it back; unset, there were none lately.
   */
  losses?: MotorRunStatusLosses;
  /**
   * message says in one sentence how the run stands.
   */
  message?: string;
  /**
   * model is the name of the model that the run uses.
   */
  model?: string;
  /**
   * observedGeneration is the generation of the spec that this status speaks of.
   */
  observedGeneration?: number;
  /**
   * paused counts the time that does not count for spec.limits.activeDeadlineSeconds, questions of the model not included.
   */
  paused?: MotorRunStatusPaused;
  /**
   * pendingInputs are what the run waits for, one for each ask that is open. A run asks one thing at a time at present.
   */
  pendingInputs?: PendingInput[];
  /**
   * pendingKind is the kind of the first of pendingInputs, unset once there is an answer. A list of runs can be restricted to it with a
   * field selector.
   */
  pendingKind?: "Question" | "OutcomeUnknown" | "Retry" | "DomainRequest" | "Approval" | "BudgetExhausted";
  /**
   * phase is a word for people.
   */
  phase?: "Created" | "Running" | "AwaitingInput" | "AwaitingApproval" | "Completed" | "Failed" | "Cancelled";
  /**
   * reason is why the run does not go on: the reason of the condition that it waits for. It is Running while the run goes on, and the
   * reason of Succeeded when it has ended.
   */
  reason?: string;
  /**
   * result is set when the run has ended.
   */
  result?: MotorRunStatusResult;
  /**
   * sandbox is where the run's tools work.
   */
  sandbox?: MotorRunStatusSandbox;
  /**
   * skill that the run uses, as it was when the run was accepted.
   */
  skill?: MotorRunStatusSkill;
  /**
   * startTime is when the operator first saw the run.
   */
  startTime?: string;
  /**
   * steps is how many answers the model has given.
   */
  steps?: number;
  /**
   * usage is what all model calls together cost.
   */
  usage?: MotorRunStatusUsage;
}

/**
 * MotorRun is one task, carried out in a sandbox of its own.
 */
export interface MotorRun {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * MotorRunSpec is one task to carry out. Only responses, suspend, ttlSecondsAfterFinished and cancel may change after creation, and
   * origin of a copy.
   */
  spec: MotorRunSpec;
  /**
   * MotorRunStatus is what the operator knows of a run. It is derived from the spec, the steps and the Pod.
   */
  status?: MotorRunStatus;
}

/**
 * TemplateParameter is a value that differs from run to run.
 */
export interface TemplateParameter {
  /**
   * default is the value if none is given. A parameter without one that is not required is the empty text then.
   */
  default?: string;
  /**
   * description says to people what the value is for.
   */
  description?: string;
  /**
   * enum are the only values that may be given.
   */
  enum?: string[];
  /**
   * name of the parameter, as in $(params.NAME).
   */
  name: string;
  /**
   * pattern is a regular expression (RE2) for the whole of a value that is given.
   */
  pattern?: string;
  /**
   * required refuses a run for which no value is given.
   */
  required?: boolean;
}

/**
 * requester is who wrote parameters and runTemplate last. Admission fills it in, where the cluster can, and refuses any other.
 */
export interface MotorRunTemplateSpecRequester {
  /**
   * groups of the user.
   */
  groups?: string[];
  /**
   * username of the user.
   */
  username: string;
}

/**
 * metadata of each run.
 */
export interface MotorRunTemplateSpecRunTemplateMetadata {
  /**
   * annotations of each run. Those of motorcortex.dev/ are the operator's.
   */
  annotations?: Record<string, string>;
  /**
   * labels of each run. Those of motorcortex.dev/ are the operator's.
   */
  labels?: Record<string, string>;
}

/**
 * accept is spec.accept of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecAccept {
  /**
   * commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or not
   * the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
   */
  commands?: AcceptCommand[];
  /**
   * files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
   */
  files?: string[];
  /**
   * valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
   * $defs of the schema itself.
   */
  valueSchema?: string;
}

/**
 * bash says which commands need approval.
 */
export interface MotorRunTemplateSpecRunTemplateSpecApprovalBash {
  /**
   * commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever else
   * it has; so does one that cannot be told before it runs.
   */
  commands: string[];
}

/**
 * fetch says which requests need approval.
 */
export interface MotorRunTemplateSpecRunTemplateSpecApprovalFetch {
  /**
   * methods of the requests.
   */
  methods: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
}

/**
 * approval is spec.approval of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecApproval {
  /**
   * bash says which commands need approval.
   */
  bash?: MotorRunTemplateSpecRunTemplateSpecApprovalBash;
  /**
   * fetch says which requests need approval.
   */
  fetch?: MotorRunTemplateSpecRunTemplateSpecApprovalFetch;
  /**
   * mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
   */
  mcpTools?: string[];
  /**
   * onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
   * told (Model). Calls that only read are made again without asking anybody.
   */
  onUnknown?: "Person" | "Model";
  /**
   * required says which tool calls a person must approve before they are made. The rules below add to it.
   */
  required?: "Never" | "Irreversible" | "Always";
  /**
   * tools whose calls all need approval.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * bash is spec.bash of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecBash {
  /**
   * allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told to
   * evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
   * refused. An empty list allows none; unset, any program of the image may be run.
   */
  allowedCommands?: string[];
}

/**
 * budget is spec.budget of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecBudget {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * code is spec.code of the run. Parameters do not change it: give them to the run in files.
 */
export interface MotorRunTemplateSpecRunTemplateSpecCode {
  /**
   * expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two: status.result.summary
   * repeats the description.
   */
  expectedOutput?: string;
  /**
   * language of the source.
   */
  language: "javascript" | "python";
  /**
   * purpose says for people why the code is run. kubectl get -o wide shows it.
   */
  purpose?: string;
  /**
   * source is the program.
   */
  source: string;
  /**
   * timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
   */
  timeoutMilliseconds?: number;
}

/**
 * limits is spec.limits of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecLimits {
  /**
   * activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits for people,
   * for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
   */
  activeDeadlineSeconds?: number;
  /**
   * approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run
   * goes on.
   */
  approvalDeadlineSeconds?: number;
  /**
   * inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
   */
  inputDeadlineSeconds?: number;
  /**
   * maxIterations is the most answers that the model may give in the first attempt; further attempts have three quarters of that. When the
   * conversation fills 60 % of the model's window, its largest older results are shortened, and where that is not enough its older part is
   * replaced by a summary.
   */
  maxIterations?: number;
  /**
   * maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there is no
   * such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
   */
  maxTokens?: number;
  /**
   * retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
   */
  retryDeadlineSeconds?: number;
}

/**
 * model is spec.model of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecModel {
  /**
   * name is asked of the same endpoint instead of the configured model.
   */
  name: string;
}

/**
 * questions is spec.questions of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecQuestions {
  /**
   * onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the default
   * that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
   */
  onTimeout?: "Fail" | "Deny" | "UseDefault";
}

/**
 * resources is spec.sandbox.resources of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecSandboxResources {
  /**
   * cpu is the most processor time: default 1.
   */
  cpu?: (number | string);
  /**
   * memory is the most memory: default 1Gi.
   */
  memory?: (number | string);
  /**
   * workspace is the most that the files in the workspace may have: default 1Gi.
   */
  workspace?: (number | string);
}

/**
 * sandbox is spec.sandbox of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecSandbox {
  /**
   * resources is spec.sandbox.resources of the run.
   */
  resources?: MotorRunTemplateSpecRunTemplateSpecSandboxResources;
  /**
   * runtimeClassName is spec.sandbox.runtimeClassName of the run.
   */
  runtimeClassName?: string;
  /**
   * workspaceStorageClassName is spec.sandbox.workspaceStorageClassName of the run.
   */
  workspaceStorageClassName?: string;
}

/**
 * skillRef is spec.skillRef of the run.
 */
export interface MotorRunTemplateSpecRunTemplateSpecSkillRef {
  /**
   * name of the Skill in this namespace.
   */
  name: string;
  /**
   * revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
   */
  revisionName?: string;
}

/**
 * spec of each run.
 */
export interface MotorRunTemplateSpecRunTemplateSpec {
  /**
   * accept is spec.accept of the run.
   */
  accept?: MotorRunTemplateSpecRunTemplateSpecAccept;
  /**
   * approval is spec.approval of the run.
   */
  approval?: MotorRunTemplateSpecRunTemplateSpecApproval;
  /**
   * bash is spec.bash of the run.
   */
  bash?: MotorRunTemplateSpecRunTemplateSpecBash;
  /**
   * budget is spec.budget of the run.
   */
  budget?: MotorRunTemplateSpecRunTemplateSpecBudget;
  /**
   * code is spec.code of the run. Parameters do not change it: give them to the run in files.
   */
  code?: MotorRunTemplateSpecRunTemplateSpecCode;
  /**
   * credentials is spec.credentials of the run. Who writes it needs the verb use on each Secret.
   */
  credentials?: Credential[];
  /**
   * domains is spec.domains of the run.
   */
  domains?: string[];
  /**
   * extractSkills is spec.extractSkills of the run.
   */
  extractSkills?: "OnSuccess" | "Always" | "Never";
  /**
   * files is spec.files of the run.
   */
  files?: InputFile[];
  /**
   * inputs is spec.inputs of the run.
   */
  inputs?: RunInput[];
  /**
   * keep is spec.keep of the run.
   */
  keep?: "Changes" | "Artifacts" | "Nothing";
  /**
   * limits is spec.limits of the run.
   */
  limits?: MotorRunTemplateSpecRunTemplateSpecLimits;
  /**
   * maxAttempts is spec.maxAttempts of the run.
   */
  maxAttempts?: number;
  /**
   * mcpServers is spec.mcpServers of the run.
   */
  mcpServers?: MCPServer[];
  /**
   * mode of the run: Agentic or Oneshot.
   */
  mode?: "Agentic" | "Oneshot" | "Install";
  /**
   * model is spec.model of the run.
   */
  model?: MotorRunTemplateSpecRunTemplateSpecModel;
  /**
   * priority is spec.priority of the run.
   */
  priority?: number;
  /**
   * questions is spec.questions of the run.
   */
  questions?: MotorRunTemplateSpecRunTemplateSpecQuestions;
  /**
   * sandbox is spec.sandbox of the run.
   */
  sandbox?: MotorRunTemplateSpecRunTemplateSpecSandbox;
  /**
   * skillRef is spec.skillRef of the run.
   */
  skillRef?: MotorRunTemplateSpecRunTemplateSpecSkillRef;
  /**
   * task is spec.task of the run.
   */
  task?: string;
  /**
   * tools is spec.tools of the run.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
  /**
   * ttlSecondsAfterFinished is spec.ttlSecondsAfterFinished of the run.
   */
  ttlSecondsAfterFinished?: number;
}

/**
 * runTemplate is the run.
 */
export interface MotorRunTemplateSpecRunTemplate {
  /**
   * metadata of each run.
   */
  metadata?: MotorRunTemplateSpecRunTemplateMetadata;
  /**
   * spec of each run.
   */
  spec: MotorRunTemplateSpecRunTemplateSpec;
}

/**
 * MotorRunTemplateSpec is a run to be made again and again, and the parameters that differ each time.
 */
export interface MotorRunTemplateSpec {
  /**
   * parameters are what differs from run to run. $(params.NAME) stands for the value of one in runTemplate.spec.task, the values of
   * runTemplate.spec.inputs and the contents of runTemplate.spec.files. No other field is changed. $$(params.NAME) is that text itself.
   */
  parameters?: TemplateParameter[];
  /**
   * requester is who wrote parameters and runTemplate last. Admission fills it in, where the cluster can, and refuses any other.
   */
  requester?: MotorRunTemplateSpecRequester;
  /**
   * runTemplate is the run.
   */
  runTemplate: MotorRunTemplateSpecRunTemplate;
}

/**
 * MotorRunTemplate is a run that people, schedules and skills make again and again, with parameters. It has no status: the operator reads
 * it when a run is made of it.
 */
export interface MotorRunTemplate {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * MotorRunTemplateSpec is a run to be made again and again, and the parameters that differ each time.
   */
  spec: MotorRunTemplateSpec;
}

/**
 * requester is who wrote the schedule last, suspend and the limits of its history aside. Its runs have the rights of that user. Admission
 * fills it in, where the cluster can, and refuses any other.
 */
export interface MotorScheduleSpecRequester {
  /**
   * groups of the user.
   */
  groups?: string[];
  /**
   * username of the user.
   */
  username: string;
}

/**
 * metadata of each run.
 */
export interface MotorScheduleSpecRunTemplateMetadata {
  /**
   * annotations of each run. Those of motorcortex.dev/ are the operator's.
   */
  annotations?: Record<string, string>;
  /**
   * labels of each run. Those of motorcortex.dev/ are the operator's.
   */
  labels?: Record<string, string>;
}

/**
 * accept is spec.accept of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecAccept {
  /**
   * commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or not
   * the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
   */
  commands?: AcceptCommand[];
  /**
   * files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
   */
  files?: string[];
  /**
   * valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
   * $defs of the schema itself.
   */
  valueSchema?: string;
}

/**
 * bash says which commands need approval.
 */
export interface MotorScheduleSpecRunTemplateSpecApprovalBash {
  /**
   * commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever else
   * it has; so does one that cannot be told before it runs.
   */
  commands: string[];
}

/**
 * fetch says which requests need approval.
 */
export interface MotorScheduleSpecRunTemplateSpecApprovalFetch {
  /**
   * methods of the requests.
   */
  methods: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
}

/**
 * approval is spec.approval of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecApproval {
  /**
   * bash says which commands need approval.
   */
  bash?: MotorScheduleSpecRunTemplateSpecApprovalBash;
  /**
   * fetch says which requests need approval.
   */
  fetch?: MotorScheduleSpecRunTemplateSpecApprovalFetch;
  /**
   * mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
   */
  mcpTools?: string[];
  /**
   * onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
   * told (Model). Calls that only read are made again without asking anybody.
   */
  onUnknown?: "Person" | "Model";
  /**
   * required says which tool calls a person must approve before they are made. The rules below add to it.
   */
  required?: "Never" | "Irreversible" | "Always";
  /**
   * tools whose calls all need approval.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * bash is spec.bash of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecBash {
  /**
   * allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told to
   * evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
   * refused. An empty list allows none; unset, any program of the image may be run.
   */
  allowedCommands?: string[];
}

/**
 * budget is spec.budget of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecBudget {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * code is spec.code of the run. Parameters do not change it: give them to the run in files.
 */
export interface MotorScheduleSpecRunTemplateSpecCode {
  /**
   * expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two: status.result.summary
   * repeats the description.
   */
  expectedOutput?: string;
  /**
   * language of the source.
   */
  language: "javascript" | "python";
  /**
   * purpose says for people why the code is run. kubectl get -o wide shows it.
   */
  purpose?: string;
  /**
   * source is the program.
   */
  source: string;
  /**
   * timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
   */
  timeoutMilliseconds?: number;
}

/**
 * limits is spec.limits of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecLimits {
  /**
   * activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits for people,
   * for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
   */
  activeDeadlineSeconds?: number;
  /**
   * approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run
   * goes on.
   */
  approvalDeadlineSeconds?: number;
  /**
   * inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
   */
  inputDeadlineSeconds?: number;
  /**
   * maxIterations is the most answers that the model may give in the first attempt; further attempts have three quarters of that. When the
   * conversation fills 60 % of the model's window, its largest older results are shortened, and where that is not enough its older part is
   * replaced by a summary.
   */
  maxIterations?: number;
  /**
   * maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there is no
   * such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
   */
  maxTokens?: number;
  /**
   * retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
   */
  retryDeadlineSeconds?: number;
}

/**
 * model is spec.model of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecModel {
  /**
   * name is asked of the same endpoint instead of the configured model.
   */
  name: string;
}

/**
 * questions is spec.questions of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecQuestions {
  /**
   * onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the default
   * that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
   */
  onTimeout?: "Fail" | "Deny" | "UseDefault";
}

/**
 * resources is spec.sandbox.resources of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecSandboxResources {
  /**
   * cpu is the most processor time: default 1.
   */
  cpu?: (number | string);
  /**
   * memory is the most memory: default 1Gi.
   */
  memory?: (number | string);
  /**
   * workspace is the most that the files in the workspace may have: default 1Gi.
   */
  workspace?: (number | string);
}

/**
 * sandbox is spec.sandbox of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecSandbox {
  /**
   * resources is spec.sandbox.resources of the run.
   */
  resources?: MotorScheduleSpecRunTemplateSpecSandboxResources;
  /**
   * runtimeClassName is spec.sandbox.runtimeClassName of the run.
   */
  runtimeClassName?: string;
  /**
   * workspaceStorageClassName is spec.sandbox.workspaceStorageClassName of the run.
   */
  workspaceStorageClassName?: string;
}

/**
 * skillRef is spec.skillRef of the run.
 */
export interface MotorScheduleSpecRunTemplateSpecSkillRef {
  /**
   * name of the Skill in this namespace.
   */
  name: string;
  /**
   * revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
   */
  revisionName?: string;
}

/**
 * spec of each run.
 */
export interface MotorScheduleSpecRunTemplateSpec {
  /**
   * accept is spec.accept of the run.
   */
  accept?: MotorScheduleSpecRunTemplateSpecAccept;
  /**
   * approval is spec.approval of the run.
   */
  approval?: MotorScheduleSpecRunTemplateSpecApproval;
  /**
   * bash is spec.bash of the run.
   */
  bash?: MotorScheduleSpecRunTemplateSpecBash;
  /**
   * budget is spec.budget of the run.
   */
  budget?: MotorScheduleSpecRunTemplateSpecBudget;
  /**
   * code is spec.code of the run. Parameters do not change it: give them to the run in files.
   */
  code?: MotorScheduleSpecRunTemplateSpecCode;
  /**
   * credentials is spec.credentials of the run. Who writes it needs the verb use on each Secret.
   */
  credentials?: Credential[];
  /**
   * domains is spec.domains of the run.
   */
  domains?: string[];
  /**
   * extractSkills is spec.extractSkills of the run.
   */
  extractSkills?: "OnSuccess" | "Always" | "Never";
  /**
   * files is spec.files of the run.
   */
  files?: InputFile[];
  /**
   * inputs is spec.inputs of the run.
   */
  inputs?: RunInput[];
  /**
   * keep is spec.keep of the run.
   */
  keep?: "Changes" | "Artifacts" | "Nothing";
  /**
   * limits is spec.limits of the run.
   */
  limits?: MotorScheduleSpecRunTemplateSpecLimits;
  /**
   * maxAttempts is spec.maxAttempts of the run.
   */
  maxAttempts?: number;
  /**
   * mcpServers is spec.mcpServers of the run.
   */
  mcpServers?: MCPServer[];
  /**
   * mode of the run: Agentic or Oneshot.
   */
  mode?: "Agentic" | "Oneshot" | "Install";
  /**
   * model is spec.model of the run.
   */
  model?: MotorScheduleSpecRunTemplateSpecModel;
  /**
   * priority is spec.priority of the run.
   */
  priority?: number;
  /**
   * questions is spec.questions of the run.
   */
  questions?: MotorScheduleSpecRunTemplateSpecQuestions;
  /**
   * sandbox is spec.sandbox of the run.
   */
  sandbox?: MotorScheduleSpecRunTemplateSpecSandbox;
  /**
   * skillRef is spec.skillRef of the run.
   */
  skillRef?: MotorScheduleSpecRunTemplateSpecSkillRef;
  /**
   * task is spec.task of the run.
   */
  task?: string;
  /**
   * tools is spec.tools of the run.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
  /**
   * ttlSecondsAfterFinished is spec.ttlSecondsAfterFinished of the run.
   */
  ttlSecondsAfterFinished?: number;
}

/**
 * runTemplate is the run that begins each time. Its texts are used as they are: parameters are of runTemplateRef.
 */
export interface MotorScheduleSpecRunTemplate {
  /**
   * metadata of each run.
   */
  metadata?: MotorScheduleSpecRunTemplateMetadata;
  /**
   * spec of each run.
   */
  spec: MotorScheduleSpecRunTemplateSpec;
}

/**
 * ParameterValue is the value of a parameter.
 */
export interface ParameterValue {
  /**
   * name of the parameter.
   */
  name: string;
  /**
   * value of the parameter.
   */
  value?: string;
}

/**
 * runTemplateRef names a MotorRunTemplate of the namespace, and gives values for its parameters.
 */
export interface MotorScheduleSpecRunTemplateRef {
  /**
   * digest is "sha256:…" of the parameters and the runTemplate that are meant. No run begins while the template has others. It can be
   * unset only if the same user wrote the template and the schedule: else who changes the template would have the rights of who wrote the
   * schedule. The condition Ready says the digest.
   */
  digest?: string;
  /**
   * name of the MotorRunTemplate.
   */
  name: string;
  /**
   * parameters are values for parameters of the template.
   */
  parameters?: ParameterValue[];
}

/**
 * MotorScheduleSpec is when runs begin, and which.
 */
export interface MotorScheduleSpec {
  /**
   * catchUp says what becomes of starts that did not take place in their minute, because no manager was there, the schedule was suspended,
   * or Forbid kept them waiting: Last makes up for the last one of them, None for none.
   */
  catchUp?: "Last" | "None";
  /**
   * concurrencyPolicy says what becomes of a start while runs of the schedule have not ended: Allow, Forbid or Replace.
   */
  concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
  /**
   * failedRunsHistoryLimit is how many runs that ended in any other way are kept.
   */
  failedRunsHistoryLimit?: number;
  /**
   * requester is who wrote the schedule last, suspend and the limits of its history aside. Its runs have the rights of that user. Admission
   * fills it in, where the cluster can, and refuses any other.
   */
  requester?: MotorScheduleSpecRequester;
  /**
   * runTemplate is the run that begins each time. Its texts are used as they are: parameters are of runTemplateRef.
   */
  runTemplate?: MotorScheduleSpecRunTemplate;
  /**
   * runTemplateRef names a MotorRunTemplate of the namespace, and gives values for its parameters.
   */
  runTemplateRef?: MotorScheduleSpecRunTemplateRef;
  /**
   * schedule is when runs begin, in the format of cron: five fields for minute, hour, day of the month, month and day of the week, or one
   * of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, or @every with a duration of a minute at least.
   */
  schedule: string;
  /**
   * startingDeadlineSeconds is how late a run may begin, after the time that schedule says. A later start is left out. Unset, there is no
   * such limit.
   */
  startingDeadlineSeconds?: number;
  /**
   * successfulRunsHistoryLimit is how many runs that succeeded are kept.
   */
  successfulRunsHistoryLimit?: number;
  /**
   * suspend lets no run begin. Runs that began go on.
   */
  suspend?: boolean;
  /**
   * timeZone is the name of the zone by whose clocks schedule goes, Europe/Berlin for example. Unset, it is UTC.
   */
  timeZone?: string;
}

/**
 * ActiveRun is a run that has not ended.
 */
export interface ActiveRun {
  /**
   * name of the MotorRun.
   */
  name: string;
  /**
   * uid of the MotorRun.
   */
  uid?: string;
}

/**
 * Condition contains details for one aspect of the current state of this API Resource.
 */
export interface MotorScheduleStatusConditions {
  /**
   * lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition
   * changed. If that is not known, then using the time when the API field changed is acceptable.
   */
  lastTransitionTime: string;
  /**
   * message is a human readable message indicating details about the transition. This may be an empty string.
   */
  message: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
   * currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
   * the instance.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
   * types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
   * be a CamelCase string. This field may not be empty.
   */
  reason: string;
  /**
   * status of the condition, one of True, False, Unknown.
   */
  status: "True" | "False" | "Unknown";
  /**
   * type of condition in CamelCase or in foo.example.com/CamelCase.
   */
  type: string;
}

/**
 * lastSkipped is the last start that did not take place.
 */
export interface MotorScheduleStatusLastSkipped {
  /**
   * reason why it did not.
   */
  reason: "TooLate" | "StillActive" | "Refused";
  /**
   * time of schedule that the run would have begun for.
   */
  time: string;
}

/**
 * MotorScheduleStatus is what became of the starts of a schedule.
 */
export interface MotorScheduleStatus {
  /**
   * active are runs of the schedule that have not ended, the oldest first. Of more than 64, it has the 64 newest.
   */
  active?: ActiveRun[];
  /**
   * conditions of the schedule: Ready.
   */
  conditions?: MotorScheduleStatusConditions[];
  /**
   * lastScheduleTime is the time of schedule that the last run began for. The run may have begun later than that.
   */
  lastScheduleTime?: string;
  /**
   * lastSkipped is the last start that did not take place.
   */
  lastSkipped?: MotorScheduleStatusLastSkipped;
  /**
   * lastSuccessfulTime is when a run of the schedule succeeded last.
   */
  lastSuccessfulTime?: string;
  /**
   * nextScheduleTime is the time of schedule that the next run is to begin for.
   */
  nextScheduleTime?: string;
  /**
   * observedGeneration is the generation of the spec that the status is about.
   */
  observedGeneration?: number;
}

/**
 * MotorSchedule has runs begin at times.
 */
export interface MotorSchedule {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * MotorScheduleSpec is when runs begin, and which.
   */
  spec: MotorScheduleSpec;
  /**
   * MotorScheduleStatus is what became of the starts of a schedule.
   */
  status?: MotorScheduleStatus;
}

/**
 * failedUsage is what tries of the same request cost that came to nothing, as far as the endpoint tells.
 */
export interface MotorStepSpecFailedUsage {
  /**
   * cachedTokens is the part of promptTokens that the endpoint served from its cache.
   */
  cachedTokens?: number;
  completionTokens?: number;
  /**
   * cost of the tokens by the prices of the time of the call, unset where the model has no price.
   */
  cost?: string;
  /**
   * currency of the cost.
   */
  currency?: string;
  /**
   * estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of the
   * request and of the answer.
   */
  estimated?: boolean;
  promptTokens?: number;
  /**
   * totalTokens is promptTokens and completionTokens together.
   */
  totalTokens?: number;
  /**
   * unpriced says that a part of the tokens is not in the cost, because their model had no price.
   */
  unpriced?: boolean;
}

/**
 * raiseBy is the amount that is proposed.
 */
export interface MotorStepSpecOutageAskRaiseBy {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * ask is set if the model is not asked because of a bound that a person can raise.
 */
export interface MotorStepSpecOutageAsk {
  /**
   * id to answer to.
   */
  id: string;
  /**
   * raiseBy is the amount that is proposed.
   */
  raiseBy: MotorStepSpecOutageAskRaiseBy;
}

/**
 * outage says why the model could not be had when that was first found. status.outage has what changed since.
 */
export interface MotorStepSpecOutage {
  /**
   * ask is set if the model is not asked because of a bound that a person can raise.
   */
  ask?: MotorStepSpecOutageAsk;
  /**
   * deadlineSeconds is how long it is waited for, from the creation of the step.
   */
  deadlineSeconds: number;
  /**
   * message says what happened, where, and what to do.
   */
  message?: string;
  /**
   * mustAct is true if the model is not expected back before a person changes something.
   */
  mustAct?: boolean;
  /**
   * reason is a reason of the condition ModelAvailable.
   */
  reason: string;
}

/**
 * outcome says how the attempt ended.
 */
export interface MotorStepSpecOutcome {
  /**
   * category is the kind of failure.
   */
  category: "ToolFailure" | "ModelFailure" | "InfraFailure" | "BudgetExhausted" | "InvalidTask" | "Incomplete" | "Unknown";
  /**
   * hint is a model's guess at the cause and the cure.
   */
  hint?: string;
  /**
   * message is for people.
   */
  message?: string;
  /**
   * reason is a CamelCase word for programs.
   */
  reason: string;
  /**
   * retryable is true if another attempt may succeed although nothing was changed.
   */
  retryable?: boolean;
}

/**
 * MCPPin says which tools of an MCP server the model is told of.
 */
export interface MCPPin {
  /**
   * digest is "sha256:…" of names, descriptions and schemas of its tools. A server that describes them otherwise later is not used any
   * more.
   */
  digest: string;
  /**
   * server is the name in spec.mcpServers.
   */
  server: string;
}

/**
 * sandbox is where the tool calls run.
 */
export interface MotorStepSpecSandbox {
  /**
   * deniedFamilies are those that the sandbox has addresses of, and programs no sockets: the kernel refuses them.
   */
  deniedFamilies?: ("IPv4" | "IPv6")[];
  /**
   * families are the families of addresses that were tried, and of which programs get sockets.
   */
  families?: ("IPv4" | "IPv6")[];
  /**
   * isolationMilliseconds is how long it took, from the first try, until they were all blocked.
   */
  isolationMilliseconds?: number;
  /**
   * isolationTries is how many times in a row every forbidden address was seen to be blocked.
   */
  isolationTries?: number;
  /**
   * mcp are the MCP servers whose tools the model was told of.
   */
  mcp?: MCPPin[];
  /**
   * open names the forbidden addresses that it could reach, where the manager was told to go on all the same.
   */
  open?: string[];
  /**
   * podUID of the sandbox Pod.
   */
  podUID: string;
  /**
   * proofTime is when its isolation was proved last.
   */
  proofTime?: string;
  /**
   * serverKey is "sha256:…" of the tool server's public key, pinned at the first handshake.
   */
  serverKey?: string;
  /**
   * unconfined are the walls within the sandbox that its node does not have.
   */
  unconfined?: ("Landlock" | "ProcessLimit")[];
}

/**
 * ToolCall is one tool call that the model decided on.
 */
export interface ToolCall {
  /**
   * arguments as the model wrote them: JSON, if the model kept to its format.
   */
  arguments?: string;
  /**
   * id is the call's identity: the sandbox runs an id at most once.
   */
  id: string;
  /**
   * modelID is the id that the model gave to the call.
   */
  modelID?: string;
  /**
   * tool is the name of the tool.
   */
  tool: string;
}

/**
 * usage is what the model call cost.
 */
export interface MotorStepSpecUsage {
  /**
   * cachedTokens is the part of promptTokens that the endpoint served from its cache.
   */
  cachedTokens?: number;
  completionTokens?: number;
  /**
   * cost of the tokens by the prices of the time of the call, unset where the model has no price.
   */
  cost?: string;
  /**
   * currency of the cost.
   */
  currency?: string;
  /**
   * estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of the
   * request and of the answer.
   */
  estimated?: boolean;
  promptTokens?: number;
  /**
   * totalTokens is promptTokens and completionTokens together.
   */
  totalTokens?: number;
  /**
   * unpriced says that a part of the tokens is not in the cost, because their model had no price.
   */
  unpriced?: boolean;
}

/**
 * MotorStepSpec is what was decided. It is written before any of it is done, and never changes.
 */
export interface MotorStepSpec {
  /**
   * attempt is the number of the attempt that the step is of. The first one is 1.
   */
  attempt: number;
  /**
   * checks says that the calls are the commands of spec.accept, and not the model's: the step before has the call of finish that they
   * decide about.
   */
  checks?: boolean;
  /**
   * content is what the model said beside its tool calls: the text of a Summary, the partial result of an Outcome.
   */
  content?: string;
  /**
   * epoch of the claim on the run under which the step was written.
   */
  epoch: number;
  /**
   * failedUsage is what tries of the same request cost that came to nothing, as far as the endpoint tells.
   */
  failedUsage?: MotorStepSpecFailedUsage;
  /**
   * final says that content is the result of the run: a call of finish was accepted in the step before, or the model ends its runs with
   * text.
   */
  final?: boolean;
  /**
   * index counts the steps of the attempt from 1. An Outage has the index of the step that waits for the model.
   */
  index: number;
  /**
   * model is the name of the model as its endpoint reported it.
   */
  model?: string;
  /**
   * modelMilliseconds is the time from the first try of the model call to its answer, in milliseconds.
   */
  modelMilliseconds?: number;
  /**
   * outage says why the model could not be had when that was first found. status.outage has what changed since.
   */
  outage?: MotorStepSpecOutage;
  /**
   * outcome says how the attempt ended.
   */
  outcome?: MotorStepSpecOutcome;
  /**
   * promptDigest is the SHA-256 of the system prompt.
   */
  promptDigest?: string;
  /**
   * requestDigest is the SHA-256 of the whole request to the model.
   */
  requestDigest?: string;
  /**
   * sandbox is where the tool calls run.
   */
  sandbox?: MotorStepSpecSandbox;
  /**
   * through is the index of the last step that a Summary stands for.
   */
  through?: number;
  /**
   * toolCalls are carried out one after the other.
   */
  toolCalls?: ToolCall[];
  /**
   * tools names the tools called, for printing.
   */
  tools?: string;
  /**
   * type is Turn for an answer of the model, Summary for a summary of older turns, Outcome for the end of an attempt, Outage for a model
   * that could not be had.
   */
  type: "Turn" | "Summary" | "Outcome" | "Outage";
  /**
   * usage is what the model call cost.
   */
  usage?: MotorStepSpecUsage;
  /**
   * value is the result as JSON that a final step has where spec.accept.valueSchema asks for it.
   */
  value?: string;
  /**
   * worker is the replica of the manager that wrote the step.
   */
  worker?: string;
}

/**
 * artifacts are what the workspace held for the result when the run last waited for a person in this step, or when the attempt ended with
 * it.
 */
export interface MotorStepStatusArtifacts {
  /**
   * files in the order of their paths: 32 of the workspace, and workspace.diff.
   */
  files?: Artifact[];
  /**
   * omitted is how many further files there were.
   */
  omitted?: number;
}

/**
 * AskFile is a file that a response brought. A file with another content is not put into the workspace.
 */
export interface AskFile {
  /**
   * mediaType by its name and its first bytes.
   */
  mediaType?: string;
  /**
   * missingInAttempt is the attempt whose new workspace lacks it, because of problem. The workspaces before that had it.
   */
  missingInAttempt?: number;
  /**
   * path in the workspace.
   */
  path: string;
  /**
   * problem is why it could not be had, or not be put into the workspace. It is not there then, and the model is told so.
   */
  problem?: string;
  /**
   * provenance is Web if the content may come from the web.
   */
  provenance?: "Web" | "Internal";
  /**
   * sha256 of the content in hexadecimal digits.
   */
  sha256?: string;
  /**
   * size in bytes.
   */
  size?: number;
}

/**
 * StepAsk is one thing that a person is asked in a step, and what became of it. It is recorded before the person is shown it, and its
 * outcome before anything follows from that.
 */
export interface StepAsk {
  /**
   * askTime is when it was recorded.
   */
  askTime: string;
  /**
   * by is who responded, as the response says.
   */
  by?: string;
  /**
   * callID is the id of the tool call that it is about.
   */
  callID: string;
  /**
   * closeTime is when the response was put to use, or the time was found to be over.
   */
  closeTime?: string;
  /**
   * decision that the response has, if it has one.
   */
  decision?: "AllowOnce" | "AllowRun" | "ApproveOnce" | "ApproveRun" | "Deny" | "Retry" | "Skip" | "Done" | "Stop" | "Raise";
  /**
   * digest is "sha256:…" of tool and arguments, of kind Approval. A decision that names another one does not count.
   */
  digest?: string;
  /**
   * domain that is asked for, of kind DomainRequest.
   */
  domain?: string;
  /**
   * execution of the call that it is about, of kind Approval and OutcomeUnknown; see UnknownExecution.
   */
  execution?: string;
  /**
   * expirationTime is until when there is time for a response. Times in which no manager led are added to it.
   */
  expirationTime?: string;
  /**
   * files that the response brought, of kind Question. They are recorded before they are put into the workspace.
   */
  files?: AskFile[];
  /**
   * id under which spec.responses of the run answers it.
   */
  id: string;
  /**
   * kind of the ask. Retry is none: it is about an attempt, and not about a step.
   */
  kind: "Question" | "OutcomeUnknown" | "Retry" | "DomainRequest" | "Approval" | "BudgetExhausted";
  /**
   * onTimeout is what becomes of it then.
   */
  onTimeout?: "Fail" | "Deny" | "UseDefault";
  /**
   * outcome, unset while it is open.
   */
  outcome?: "Answered" | "Approved" | "Denied" | "Expired";
  /**
   * reason of the decision, as the response says.
   */
  reason?: string;
  /**
   * rule by which the call needs approval, of kind Approval: the one that ApproveRun approves, unset where only this call can be approved.
   */
  rule?: string;
}

/**
 * StepProgram is a program that a tool call left in the background.
 */
export interface StepProgram {
  /**
   * callID is the id of the tool call. Its arguments have the command.
   */
  callID: string;
  /**
   * completionTime is when it ended, unset while it runs and of one that is Lost.
   */
  completionTime?: string;
  /**
   * execution that left it; see UnknownExecution.
   */
  execution: string;
  /**
   * exitCode is that of one that Failed: 128 and the number of the signal of one that a signal ended.
   */
  exitCode?: number;
  /**
   * foundIn is the index of the step in whose time its end was seen. The model is told of the end of one that is Stopped or Lost with what
   * the calls of that step gave.
   */
  foundIn?: number;
  /**
   * reason is why one that is Stopped was ended: IsolationLost, Suspended, AwaitingInput, WayOutGranted, AttemptFinished.
   */
  reason?: string;
  /**
   * startTime is when it was left, by the clock of its sandbox.
   */
  startTime: string;
  /**
   * state is Running until its end is seen.
   */
  state: "Running" | "Succeeded" | "Failed" | "Stopped" | "Lost";
}

/**
 * closed is set in the last step of an attempt that has ended, when what the workspace held then was collected.
 */
export interface MotorStepStatusClosed {
  /**
   * closeTime is when the last look at the workspace was over.
   */
  closeTime: string;
  /**
   * problem says why not everything could be collected, unset if all was.
   */
  problem?: string;
}

/**
 * failedUsage is what tries that came to nothing cost in an Outage, as far as the endpoint tells.
 */
export interface MotorStepStatusFailedUsage {
  /**
   * cachedTokens is the part of promptTokens that the endpoint served from its cache.
   */
  cachedTokens?: number;
  completionTokens?: number;
  /**
   * cost of the tokens by the prices of the time of the call, unset where the model has no price.
   */
  cost?: string;
  /**
   * currency of the cost.
   */
  currency?: string;
  /**
   * estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of the
   * request and of the answer.
   */
  estimated?: boolean;
  promptTokens?: number;
  /**
   * totalTokens is promptTokens and completionTokens together.
   */
  totalTokens?: number;
  /**
   * unpriced says that a part of the tokens is not in the cost, because their model had no price.
   */
  unpriced?: boolean;
}

/**
 * left is what the run had left when all calls had results, as the model was told.
 */
export interface MotorStepStatusLeft {
  /**
   * seconds of the run's time.
   */
  seconds?: number;
  /**
   * tokens of the run's tokens. It is not set if the run has no limit of them.
   */
  tokens?: number;
}

/**
 * raiseBy is the amount that is proposed.
 */
export interface MotorStepStatusOutageAskRaiseBy {
  /**
   * cost in the currency of the MotorCortex, such as "0.50".
   */
  cost?: string;
  /**
   * tokens of requests and answers together.
   */
  tokens?: number;
}

/**
 * ask is set if the model is not asked because of a bound that a person can raise.
 */
export interface MotorStepStatusOutageAsk {
  /**
   * id to answer to.
   */
  id: string;
  /**
   * raiseBy is the amount that is proposed.
   */
  raiseBy: MotorStepStatusOutageAskRaiseBy;
}

/**
 * outage is why the model cannot be had by now, if that is not what spec.outage says any more.
 */
export interface MotorStepStatusOutage {
  /**
   * ask is set if the model is not asked because of a bound that a person can raise.
   */
  ask?: MotorStepStatusOutageAsk;
  /**
   * deadlineSeconds is how long it is waited for, from the creation of the step.
   */
  deadlineSeconds: number;
  /**
   * message says what happened, where, and what to do.
   */
  message?: string;
  /**
   * mustAct is true if the model is not expected back before a person changes something.
   */
  mustAct?: boolean;
  /**
   * reason is a reason of the condition ModelAvailable.
   */
  reason: string;
}

/**
 * ToolResult is the envelope of what a tool call gave.
 */
export interface ToolResult {
  /**
   * callID is the id of the tool call.
   */
  callID: string;
  /**
   * durationMilliseconds is how long the call took, in milliseconds.
   */
  durationMilliseconds?: number;
  /**
   * errorCode is a word for programs.
   */
  errorCode?: string;
  /**
   * keptFile is the file in the workspace that has the output too, if output is whole and the model may be shown less of it later.
   */
  keptFile?: string;
  /**
   * noteBytes is how many bytes at the end of output are the tool server's own words about the call, and not what a program, a page or a
   * file gave. They are not marked as coming from the web.
   */
  noteBytes?: number;
  /**
   * ok is false if the tool failed.
   */
  ok: boolean;
  /**
   * output is what the model is shown, at most 32 KiB; the rest is in outputFile.
   */
  output?: string;
  /**
   * outputFile is the file in the workspace that has the whole output, if output is cut.
   */
  outputFile?: string;
  /**
   * provenance is where the output comes from: an output that is Web is not trusted.
   */
  provenance: "User" | "Web" | "Internal";
  /**
   * retryable says that the same call may succeed when it is made again.
   */
  retryable?: boolean;
  /**
   * waitedMilliseconds is how long a person took to approve the call, or to decide about its unknown outcome, in milliseconds.
   */
  waitedMilliseconds?: number;
}

/**
 * skills are what became of the skills in the workspace when the attempt ended with this step.
 */
export interface MotorStepStatusSkills {
  /**
   * created are new Skills.
   */
  created?: ProposedSkill[];
  /**
   * rejected are folders that were not taken.
   */
  rejected?: RejectedSkill[];
  /**
   * updated are Skills that have a new revision to be reviewed.
   */
  updated?: ProposedSkill[];
}

/**
 * UnknownExecution is an execution of a tool call of which the sandbox knows the beginning and not the end.
 */
export interface UnknownExecution {
  /**
   * callID is the id of the tool call.
   */
  callID: string;
  /**
   * detectionTime is when this was found.
   */
  detectionTime: string;
  /**
   * execution is the id under which the sandbox ran it: that of the call the first time, with -r1, -r2 … after it when it was made again.
   */
  execution: string;
  /**
   * policy is who deals with it. A call that only reads needs no person.
   */
  policy: "Redo" | "Person" | "Model";
}

/**
 * The default makes a step InFlight from its creation on: a status is written when there are results.
 */
export interface MotorStepStatus {
  /**
   * artifacts are what the workspace held for the result when the run last waited for a person in this step, or when the attempt ended with
   * it.
   */
  artifacts?: MotorStepStatusArtifacts;
  /**
   * asks are what people were asked about its calls. Entries are only added, and get their outcome once.
   */
  asks?: StepAsk[];
  /**
   * background has an entry for each program that its calls left in the background. It gets its end once.
   */
  background?: StepProgram[];
  /**
   * closed is set in the last step of an attempt that has ended, when what the workspace held then was collected.
   */
  closed?: MotorStepStatusClosed;
  /**
   * failedUsage is what tries that came to nothing cost in an Outage, as far as the endpoint tells.
   */
  failedUsage?: MotorStepStatusFailedUsage;
  /**
   * left is what the run had left when all calls had results, as the model was told.
   */
  left?: MotorStepStatusLeft;
  /**
   * ok is "succeeded/called", for printing.
   */
  ok?: string;
  /**
   * outage is why the model cannot be had by now, if that is not what spec.outage says any more.
   */
  outage?: MotorStepStatusOutage;
  /**
   * phase is InFlight from the creation of the step until every tool call has a result.
   */
  phase?: "InFlight" | "Settled" | "OutcomeUnknown" | "Closed";
  /**
   * results has an entry for each tool call that has ended.
   */
  results?: ToolResult[];
  /**
   * skills are what became of the skills in the workspace when the attempt ended with this step.
   */
  skills?: MotorStepStatusSkills;
  /**
   * toolMilliseconds is the time that the tool calls took together, waiting for people not counted, in milliseconds.
   */
  toolMilliseconds?: number;
  /**
   * unknown has an entry for each time that a call was started and its end was not seen. Entries are only added.
   */
  unknown?: UnknownExecution[];
}

/**
 * MotorStep is one entry in the journal of a MotorRun. Only the operator writes it.
 */
export interface MotorStep {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * MotorStepSpec is what was decided. It is written before any of it is done, and never changes.
   */
  spec: MotorStepSpec;
  /**
   * The default makes a step InFlight from its creation on: a status is written when there are results.
   */
  status?: MotorStepStatus;
}

/**
 * resources are the limits of each sandbox, as in spec.sandbox.resources of a MotorRun.
 */
export interface SandboxPoolSpecResources {
  /**
   * cpu is the most processor time: default 1.
   */
  cpu?: (number | string);
  /**
   * memory is the most memory, the files in the sandbox's /tmp not counted: default 1Gi.
   */
  memory?: (number | string);
  /**
   * workspace is the most that the files in the workspace may have: default 1Gi.
   */
  workspace?: (number | string);
}

/**
 * SandboxPoolSpec is how many sandboxes a pool keeps, and of which shape. A run gets one of them if its own sandbox would have the same
 * shape, and the MotorCortex of the namespace names the pool.
 */
export interface SandboxPoolSpec {
  /**
   * maxAgeSeconds is how old a sandbox may become that no run takes. Then another one replaces it.
   */
  maxAgeSeconds?: number;
  /**
   * replicas is how many sandboxes wait for a run. One that a run takes is replaced. Zero keeps none.
   */
  replicas?: number;
  /**
   * resources are the limits of each sandbox, as in spec.sandbox.resources of a MotorRun.
   */
  resources?: SandboxPoolSpecResources;
  /**
   * runtimeClassName is the RuntimeClass of each Pod, as in spec.sandbox.runtimeClassName of a MotorRun.
   */
  runtimeClassName?: string;
}

/**
 * Condition contains details for one aspect of the current state of this API Resource.
 */
export interface SandboxPoolStatusConditions {
  /**
   * lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition
   * changed. If that is not known, then using the time when the API field changed is acceptable.
   */
  lastTransitionTime: string;
  /**
   * message is a human readable message indicating details about the transition. This may be an empty string.
   */
  message: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
   * currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
   * the instance.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
   * types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
   * be a CamelCase string. This field may not be empty.
   */
  reason: string;
  /**
   * status of the condition, one of True, False, Unknown.
   */
  status: "True" | "False" | "Unknown";
  /**
   * type of condition in CamelCase or in foo.example.com/CamelCase.
   */
  type: string;
}

/**
 * SandboxPoolStatus is what a pool has.
 */
export interface SandboxPoolStatus {
  /**
   * conditions of the pool: Ready.
   */
  conditions?: SandboxPoolStatusConditions[];
  /**
   * observedGeneration is the generation of the spec that the status is about.
   */
  observedGeneration?: number;
  /**
   * readyReplicas is how many of them a run can take now: their isolation is proved.
   */
  readyReplicas?: number;
  /**
   * replicas is how many sandboxes the pool has, ready or not. Those that runs have taken do not count.
   */
  replicas?: number;
  /**
   * selector selects the Pods of the pool, for the scale subresource.
   */
  selector?: string;
}

/**
 * SandboxPool keeps sandboxes that wait for a run: started, empty, closed, and proved to be closed. Each serves one run and is destroyed
 * after it.
 */
export interface SandboxPool {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * SandboxPoolSpec is how many sandboxes a pool keeps, and of which shape. A run gets one of them if its own sandbox would have the same
   * shape, and the MotorCortex of the namespace names the pool.
   */
  spec: SandboxPoolSpec;
  /**
   * SandboxPoolStatus is what a pool has.
   */
  status?: SandboxPoolStatus;
}

/**
 * WebSource is something that a run fetched from the web.
 */
export interface WebSource {
  /**
   * fetchTime is when the step was recorded that fetched it.
   */
  fetchTime?: string;
  /**
   * url without what gives access: no query, and no user.
   */
  url: string;
}

/**
 * extractedFrom is the run that wrote the files, unset if they came from the skill's source.
 */
export interface SkillRevisionSpecExtractedFrom {
  /**
   * changedFiles are those that the run changed or added, deletedFiles those that it deleted.
   */
  changedFiles?: string[];
  /**
   * credentials that the run saved, by name.
   */
  credentials?: string[];
  deletedFiles?: string[];
  /**
   * revisionName that the run began with, "" if there was none.
   */
  revisionName?: string;
  /**
   * runName by name.
   */
  runName: string;
  /**
   * runUID tells it from a later one of its name.
   */
  runUID?: string;
  /**
   * sources are what the run fetched from the web before it wrote the files, the first 16.
   */
  sources?: WebSource[];
}

/**
 * RevisionFile is one file of a revision.
 */
export interface RevisionFile {
  /**
   * executable says that the file is a program.
   */
  executable?: boolean;
  /**
   * path in the skill's folder.
   */
  path: string;
  /**
   * sha256 of the content in hexadecimal digits.
   */
  sha256: string;
  /**
   * size in bytes.
   */
  size?: number;
}

/**
 * SkillRevisionSpec is what a skill's files were at one time.
 */
export interface SkillRevisionSpec {
  /**
   * configMapNames hold the bytes of the files, one after the other in their order, cut into parts.
   */
  configMapNames?: string[];
  /**
   * contentHash is "sha256:…" of the list of the files: a line "MODE SHA256 PATH" for each, sorted by path, where MODE is 644 or 755.
   */
  contentHash: string;
  /**
   * description of SKILL.md.
   */
  description?: string;
  /**
   * extractedFrom is the run that wrote the files, unset if they came from the skill's source.
   */
  extractedFrom?: SkillRevisionSpecExtractedFrom;
  /**
   * files in the order of their paths.
   */
  files: RevisionFile[];
  /**
   * origin is what the files were read from: the digest behind a tag, a Git commit.
   */
  origin?: string;
  /**
   * skillName that it is a revision of.
   */
  skillName: string;
}

/**
 * advice is what a model said about the files in the first run with skillReview that looked at them. It decides nothing, and stays.
 */
export interface SkillRevisionStatusAdvice {
  /**
   * adviceTime is when the run ended.
   */
  adviceTime?: string;
  /**
   * requestedBy is who made the run, "" if the cluster does not stamp that.
   */
  requestedBy?: string;
  /**
   * runName that asked it.
   */
  runName: string;
  /**
   * text of the model. It may have been told by the files what to say.
   */
  text?: string;
}

/**
 * Mention is a name that a file mentions.
 */
export interface Mention {
  /**
   * name that is mentioned: a host, or an environment variable.
   */
  name: string;
  /**
   * paths of the files that mention it, the first of them.
   */
  paths?: string[];
}

/**
 * Finding is something in a file that a person should look at.
 */
export interface Finding {
  /**
   * kind of it.
   */
  kind: "Secret" | "HiddenUnicode" | "Base64" | "Binary" | "Script" | "UnknownKey" | "OddValue" | "OddFile";
  /**
   * line of the file, counted from 1, 0 for all of it.
   */
  line?: number;
  /**
   * message says what it is. It never has a secret.
   */
  message?: string;
  /**
   * path of the file.
   */
  path: string;
}

/**
 * latestAdvice is what a model said in the newest such run, unset if there was only one.
 */
export interface SkillRevisionStatusLatestAdvice {
  /**
   * adviceTime is when the run ended.
   */
  adviceTime?: string;
  /**
   * requestedBy is who made the run, "" if the cluster does not stamp that.
   */
  requestedBy?: string;
  /**
   * runName that asked it.
   */
  runName: string;
  /**
   * text of the model. It may have been told by the files what to say.
   */
  text?: string;
}

/**
 * SkillRevisionStatus is what there is to know of the files. It is gathered by the operator, by patterns.
 */
export interface SkillRevisionStatus {
  /**
   * advice is what a model said about the files in the first run with skillReview that looked at them. It decides nothing, and stays.
   */
  advice?: SkillRevisionStatusAdvice;
  /**
   * domains that files mention.
   */
  domains?: Mention[];
  /**
   * findings are things that a person should look at.
   */
  findings?: Finding[];
  /**
   * latestAdvice is what a model said in the newest such run, unset if there was only one.
   */
  latestAdvice?: SkillRevisionStatusLatestAdvice;
  /**
   * omitted is how many further mentions and findings there are.
   */
  omitted?: number;
  /**
   * packages that files say to install with pip, npm or apt, as in pip:requests.
   */
  packages?: Mention[];
  /**
   * reviewStarts is how often the operator began to gather that, and its process ended before it was done. After the second time the files
   * are not looked at again: see the reason ReviewSetAside of the Skill. Deleting the SkillRevision tries anew.
   */
  reviewStarts?: number;
  /**
   * reviewTime is when that was gathered.
   */
  reviewTime?: string;
  /**
   * shell has the files, the first four of them, that are shell scripts or have blocks for a shell.
   */
  shell?: string[];
  /**
   * tools of the operator that SKILL.md names in allowed-tools, in its own words, and bash if shell names a file. They grant nothing: they
   * are what to put into the policy.
   */
  tools?: string[];
  /**
   * variables of the environment that files mention, but for well-known ones.
   */
  variables?: Mention[];
}

/**
 * SkillRevision is a snapshot of a skill's files. The operator makes it, and it never changes.
 */
export interface SkillRevision {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * SkillRevisionSpec is what a skill's files were at one time.
   */
  spec: SkillRevisionSpec;
  /**
   * SkillRevisionStatus is what there is to know of the files. It is gathered by the operator, by patterns.
   */
  status?: SkillRevisionStatus;
}

/**
 * approval lets runs use the skill: exactly that content with exactly that policy. A client that writes it needs the verb approve on the
 * skill.
 */
export interface SkillSpecApproval {
  /**
   * account is the user who wrote the approval into the cluster. Admission fills it in, where the cluster can, and refuses any other.
   */
  account?: string;
  /**
   * approvedBy is who approved. A person's is their own name; a service account that carries an approval out of Git writes who approved it
   * there.
   */
  approvedBy?: string;
  /**
   * contentHash of the approved files: status.contentHash, or that of an earlier revision to go back to it.
   */
  contentHash: string;
  /**
   * decision is Approved, or Revoked.
   */
  decision?: "Approved" | "Revoked";
  /**
   * expirationTime is when the approval ends; unset, it does not.
   */
  expirationTime?: string;
  /**
   * note says why.
   */
  note?: string;
  /**
   * policyHash of the approved policy: status.policyHash. Who changes the policy and approves it in one patch writes the new one: sha256 of
   * spec.policy as JSON with sorted keys, without spaces.
   */
  policyHash: string;
}

/**
 * accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
 */
export interface SkillSpecPolicyAccept {
  /**
   * commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or not
   * the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
   */
  commands?: AcceptCommand[];
  /**
   * files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
   */
  files?: string[];
  /**
   * valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
   * $defs of the schema itself.
   */
  valueSchema?: string;
}

/**
 * bash says which commands need approval.
 */
export interface SkillSpecPolicyApprovalBash {
  /**
   * commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever else
   * it has; so does one that cannot be told before it runs.
   */
  commands: string[];
}

/**
 * fetch says which requests need approval.
 */
export interface SkillSpecPolicyApprovalFetch {
  /**
   * methods of the requests.
   */
  methods: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS")[];
}

/**
 * approval says what needs a person, beside what the run itself says.
 */
export interface SkillSpecPolicyApproval {
  /**
   * bash says which commands need approval.
   */
  bash?: SkillSpecPolicyApprovalBash;
  /**
   * fetch says which requests need approval.
   */
  fetch?: SkillSpecPolicyApprovalFetch;
  /**
   * mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
   */
  mcpTools?: string[];
  /**
   * onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
   * told (Model). Calls that only read are made again without asking anybody.
   */
  onUnknown?: "Person" | "Model";
  /**
   * required says which tool calls a person must approve before they are made. The rules below add to it.
   */
  required?: "Never" | "Irreversible" | "Always";
  /**
   * tools whose calls all need approval.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * bash narrows the bash tool.
 */
export interface SkillSpecPolicyBash {
  /**
   * allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told to
   * evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
   * refused. An empty list allows none; unset, any program of the image may be run.
   */
  allowedCommands?: string[];
}

/**
 * dependencies are packages that are installed for the skill, before its runs.
 */
export interface SkillSpecPolicyDependencies {
  /**
   * apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of theirs is run
   * when they are unpacked.
   */
  apt?: string[];
  /**
   * npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
   */
  npm?: string[];
  /**
   * pip packages, as in requests==2.32.3 or name[extra]==1.0.
   */
  pip?: string[];
}

/**
 * policy is what runs of the skill may use. To change it takes a new approval.
 */
export interface SkillSpecPolicy {
  /**
   * accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
   */
  accept?: SkillSpecPolicyAccept;
  /**
   * approval says what needs a person, beside what the run itself says.
   */
  approval?: SkillSpecPolicyApproval;
  /**
   * bash narrows the bash tool.
   */
  bash?: SkillSpecPolicyBash;
  /**
   * credentials that the skill needs.
   */
  credentials?: SkillCredential[];
  /**
   * dependencies are packages that are installed for the skill, before its runs.
   */
  dependencies?: SkillSpecPolicyDependencies;
  /**
   * domains are the only hosts that the sandbox may reach.
   */
  domains?: string[];
  /**
   * inputs are what a run of the skill is given.
   */
  inputs?: SkillInput[];
  /**
   * tools that the model may use.
   */
  tools?: ("bash" | "code" | "read" | "write" | "edit" | "patch" | "list" | "glob" | "grep" | "fetch" | "search_web" | "save_artifact" | "ask_user" | "request_approval" | "request_domain" | "save_credential")[];
}

/**
 * SkillRejection records that a person does not want a content.
 */
export interface SkillSpecRejections {
  /**
   * contentHash of the files.
   */
  contentHash: string;
  /**
   * note says why.
   */
  note?: string;
  /**
   * rejectedBy is who rejected it. Admission fills it in, where the cluster can.
   */
  rejectedBy?: string;
}

/**
 * SkillConfigMap is a ConfigMap whose keys are files.
 */
export interface SkillConfigMap {
  /**
   * name of the ConfigMap.
   */
  name: string;
  /**
   * path is the folder that the keys are files of, "" for the skill's own. In a key, two underscores stand for /, as in scripts__send.py,
   * because a key can have no /.
   */
  path?: string;
}

/**
 * SkillFile is one file of a skill.
 */
export interface SkillFile {
  /**
   * content of the file.
   */
  content: string;
  /**
   * executable says that the file is a program. Files below scripts that begin with #! are, whatever this says.
   */
  executable?: boolean;
  /**
   * path in the skill's folder, with / between folders: SKILL.md, or below references, scripts or assets.
   */
  path: string;
}

/**
 * flux is a source object of Flux, where that is installed.
 */
export interface SkillSpecSourceFlux {
  /**
   * kind of the object.
   */
  kind: "GitRepository" | "OCIRepository" | "Bucket";
  /**
   * name of the object in this namespace.
   */
  name: string;
  /**
   * path of the skill's folder in the source.
   */
  path?: string;
}

/**
 * oci is an artifact in an OCI registry.
 */
export interface SkillSpecSourceOci {
  /**
   * pullSecretName is a Secret of type kubernetes.io/dockerconfigjson in this namespace.
   */
  pullSecretName?: string;
  /**
   * reference is REGISTRY/REPOSITORY@sha256:… or REGISTRY/REPOSITORY:TAG. What a tag stands for is looked up every 10 minutes.
   */
  reference: string;
}

/**
 * source is where the files come from. Unset, they come from the runs that wrote them.
 */
export interface SkillSpecSource {
  /**
   * configMaps of this namespace, whose keys are the files. Two must not have the same file.
   */
  configMaps?: SkillConfigMap[];
  /**
   * files are the files themselves.
   */
  files?: SkillFile[];
  /**
   * flux is a source object of Flux, where that is installed.
   */
  flux?: SkillSpecSourceFlux;
  /**
   * oci is an artifact in an OCI registry.
   */
  oci?: SkillSpecSourceOci;
}

/**
 * SkillSpec is where a skill's files come from, what it may use, and what a person decided about it.
 */
export interface SkillSpec {
  /**
   * approval lets runs use the skill: exactly that content with exactly that policy. A client that writes it needs the verb approve on the
   * skill.
   */
  approval?: SkillSpecApproval;
  /**
   * policy is what runs of the skill may use. To change it takes a new approval.
   */
  policy?: SkillSpecPolicy;
  /**
   * rejections are contents that a person looked at and does not want. A client that writes one needs the verb approve on the skill.
   */
  rejections?: SkillSpecRejections[];
  /**
   * source is where the files come from. Unset, they come from the runs that wrote them.
   */
  source?: SkillSpecSource;
}

/**
 * approved is the approval as it was found in force. It is unset when the approval is revoked, has expired, or is gone.
 */
export interface SkillStatusApproved {
  account?: string;
  /**
   * approvedBy and account as the approval has them.
   */
  approvedBy?: string;
  /**
   * contentHash of it.
   */
  contentHash: string;
  /**
   * note as the approval has it, "" if it has none. An approval with another note is another one, given in view of what the source gives by
   * then. Unset, the note is not known, and tells nothing.
   */
  note?: string;
  /**
   * observedTime is when the operator found the approval in force.
   */
  observedTime?: string;
  /**
   * policyHash that was approved with it.
   */
  policyHash: string;
  /**
   * revisionName that was approved.
   */
  revisionName: string;
  /**
   * sourceHash is the content of spec.source at that time, "" if there was none. When that changes to something else than what is approved,
   * the skill needs a new approval.
   */
  sourceHash?: string;
}

/**
 * Condition contains details for one aspect of the current state of this API Resource.
 */
export interface SkillStatusConditions {
  /**
   * lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying condition
   * changed. If that is not known, then using the time when the API field changed is acceptable.
   */
  lastTransitionTime: string;
  /**
   * message is a human readable message indicating details about the transition. This may be an empty string.
   */
  message: string;
  /**
   * observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
   * currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
   * the instance.
   */
  observedGeneration?: number;
  /**
   * reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
   * types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
   * be a CamelCase string. This field may not be empty.
   */
  reason: string;
  /**
   * status of the condition, one of True, False, Unknown.
   */
  status: "True" | "False" | "Unknown";
  /**
   * type of condition in CamelCase or in foo.example.com/CamelCase.
   */
  type: string;
}

/**
 * newestDecided is the newest revision that spec.approval ever named. What runs proposed before it was passed over, and stays so when an
 * older revision is approved again or the approval goes away.
 */
export interface SkillStatusNewestDecided {
  /**
   * contentHash of its files.
   */
  contentHash: string;
  /**
   * creationTime is when it was made.
   */
  creationTime?: string;
  /**
   * name of the SkillRevision.
   */
  name: string;
  /**
   * runName that proposed it, "" if it came from spec.source.
   */
  runName?: string;
}

/**
 * archive is what it installed, unset as long as that is not done.
 */
export interface SkillStatusPackagesArchive {
  /**
   * configMapNames of this namespace that hold the parts, in their order.
   */
  configMapNames: string[];
  /**
   * sha256 of the whole in hexadecimal digits.
   */
  sha256: string;
  /**
   * size of the whole in bytes.
   */
  size?: number;
}

/**
 * packages are those of spec.policy.dependencies.
 */
export interface SkillStatusPackages {
  /**
   * archive is what it installed, unset as long as that is not done.
   */
  archive?: SkillStatusPackagesArchive;
  /**
   * hash of spec.policy.dependencies and of where they are installed from.
   */
  hash: string;
  /**
   * runName of mode Install that installs them, or did.
   */
  runName?: string;
}

/**
 * review is what the files of revision mention, against what the policy grants.
 */
export interface SkillStatusReview {
  /**
   * findings is how many things of revision a person should look at: see the status of the SkillRevision.
   */
  findings?: number;
  /**
   * missingCredentials are environment variables that files mention and that no credential of the policy fills.
   */
  missingCredentials?: string[];
  /**
   * missingDomains are mentioned by files and not granted.
   */
  missingDomains?: string[];
  /**
   * missingPackages are those that files say to install, as in pip:requests, and that the policy does not have.
   */
  missingPackages?: string[];
  /**
   * missingTools are those that the files name, or use as bash, and that the policy does not grant.
   */
  missingTools?: string[];
  /**
   * revisionName whose files were looked at.
   */
  revisionName: string;
  /**
   * unusedCredentials are granted and mentioned by no file.
   */
  unusedCredentials?: string[];
  /**
   * unusedDomains are granted and mentioned by no file.
   */
  unusedDomains?: string[];
}

/**
 * RevisionSummary is a revision in the list of them.
 */
export interface RevisionSummary {
  /**
   * contentHash of its files.
   */
  contentHash: string;
  /**
   * creationTime is when it was made.
   */
  creationTime?: string;
  /**
   * name of the SkillRevision.
   */
  name: string;
  /**
   * runName that proposed it, "" if it came from spec.source.
   */
  runName?: string;
}

/**
 * source says what spec.source gave when it was last read.
 */
export interface SkillStatusSource {
  /**
   * contentHash of the files.
   */
  contentHash?: string;
  /**
   * origin is what the files were read from: the digest behind a tag, or a Git commit.
   */
  origin?: string;
  /**
   * readTime is when a tag or a source object of Flux was last looked up.
   */
  readTime?: string;
}

/**
 * usage counts the runs of the skill. It is written rarely.
 */
export interface SkillStatusUsage {
  /**
   * lastUsedTime is when the last of them ended.
   */
  lastUsedTime?: string;
  /**
   * runs that ended and used the skill as it was approved.
   */
  runs?: number;
  /**
   * succeeded is how many of them succeeded.
   */
  succeeded?: number;
  /**
   * successRate is succeeded of runs, as in 87%, for printing.
   */
  successRate?: string;
}

/**
 * SkillStatus is what the operator knows of a skill.
 */
export interface SkillStatus {
  /**
   * approved is the approval as it was found in force. It is unset when the approval is revoked, has expired, or is gone.
   */
  approved?: SkillStatusApproved;
  /**
   * conditions are what programs read.
   */
  conditions?: SkillStatusConditions[];
  /**
   * contentHash of revision.
   */
  contentHash?: string;
  /**
   * description as the SKILL.md of revision has it.
   */
  description?: string;
  /**
   * message says in one sentence how the skill stands.
   */
  message?: string;
  /**
   * newestDecided is the newest revision that spec.approval ever named. What runs proposed before it was passed over, and stays so when an
   * older revision is approved again or the approval goes away.
   */
  newestDecided?: SkillStatusNewestDecided;
  /**
   * observedGeneration is the generation of the spec that this status speaks of.
   */
  observedGeneration?: number;
  /**
   * packages are those of spec.policy.dependencies.
   */
  packages?: SkillStatusPackages;
  /**
   * policyHash of spec.policy.
   */
  policyHash?: string;
  /**
   * review is what the files of revision mention, against what the policy grants.
   */
  review?: SkillStatusReview;
  /**
   * revisionName is the newest SkillRevision: what an approval is asked for, unless it has it.
   */
  revisionName?: string;
  /**
   * revisions are those that can be approved, the newest first.
   */
  revisions?: RevisionSummary[];
  /**
   * source says what spec.source gave when it was last read.
   */
  source?: SkillStatusSource;
  /**
   * state is a word for people.
   */
  state?: "PendingReview" | "AwaitingApproval" | "Approved" | "NeedsReapproval" | "Rejected" | "Revoked";
  /**
   * stateTime is when the skill began to have this state with this revisionName.
   */
  stateTime?: string;
  /**
   * usage counts the runs of the skill. It is written rarely.
   */
  usage?: SkillStatusUsage;
}

/**
 * Skill is a capability: files after the Agent Skills standard, what they may use, and who approved it.
 */
export interface Skill {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  /**
   * SkillSpec is where a skill's files come from, what it may use, and what a person decided about it.
   */
  spec: SkillSpec;
  /**
   * SkillStatus is what the operator knows of a skill.
   */
  status?: SkillStatus;
}
