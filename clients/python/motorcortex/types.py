# SPDX-License-Identifier: Apache-2.0
# Generated from config/crd/bases by "make generate". Do not edit.
"""The kinds of motorcortex.dev/v1alpha1."""

from typing import Any, Literal, NotRequired, TypedDict


class OwnerReference(TypedDict):
    """The owner of an object."""

    apiVersion: str
    kind: str
    name: str
    uid: str
    controller: NotRequired[bool]
    blockOwnerDeletion: NotRequired[bool]


class ObjectMeta(TypedDict):
    """The metadata of an object, as the API server returns it."""

    name: str
    namespace: str
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: NotRequired[str]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]
    finalizers: NotRequired[list[str]]
    ownerReferences: NotRequired[list[OwnerReference]]


class MotorCortexSpecApproval(TypedDict):
    """
    approval says who may decide for the runs of this namespace.
    """

    # fourEyes keeps the creator of a run from deciding for it, whatever rights that person has: about tool calls and domains, and by
    # addDomains of a retry. exposeToSandbox cannot be set then. Off by default.
    fourEyes: NotRequired[bool]


class MotorCortexSpecBudgetPerDay(TypedDict):
    """
    perDay is the most that all runs may spend in a day of UTC.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorCortexSpecBudgetPerMonth(TypedDict):
    """
    perMonth is the most that all runs may spend in a month of UTC.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorCortexSpecBudgetPerRequester(TypedDict):
    """
    perRequester is the most that the runs of one requester may spend in a day of UTC.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorCortexSpecBudgetPerRun(TypedDict):
    """
    perRun is the most that one run may spend. A run can narrow it with spec.budget.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class ModelPrice(TypedDict):
    """
    ModelPrice is what a model costs, for each million of tokens.
    """

    # cachedInput is the price of a million tokens of requests that the endpoint had in its cache: that of input if unset.
    cachedInput: NotRequired[str]
    # input is the price of a million tokens of requests.
    input: str
    # model is the name that spec.models, or spec.model of a run, has for it.
    model: str
    # output is the price of a million tokens of answers.
    output: str


class MotorCortexSpecBudget(TypedDict):
    """
    budget says what models cost, and what the runs of this namespace may spend on them. Unset, nothing is counted but tokens, and nothing
    is bounded.
    """

    # currency of all prices and costs, such as EUR.
    currency: NotRequired[str]
    # hard keeps people from raising perDay and perMonth for a run that has reached one of them: runs wait until the day or the month is
    # over, or the MotorCortex is changed.
    hard: NotRequired[bool]
    # maxOutputTokens is how many tokens an answer is taken to have at most when its call is weighed. An answer that is longer counts with
    # what it has.
    maxOutputTokens: NotRequired[int]
    # perDay is the most that all runs may spend in a day of UTC.
    perDay: NotRequired["MotorCortexSpecBudgetPerDay"]
    # perMonth is the most that all runs may spend in a month of UTC.
    perMonth: NotRequired["MotorCortexSpecBudgetPerMonth"]
    # perRequester is the most that the runs of one requester may spend in a day of UTC.
    perRequester: NotRequired["MotorCortexSpecBudgetPerRequester"]
    # perRun is the most that one run may spend. A run can narrow it with spec.budget.
    perRun: NotRequired["MotorCortexSpecBudgetPerRun"]
    # prices of models. A model without a price costs nothing that is known; where a bound of cost applies, it is not asked.
    prices: NotRequired[list["ModelPrice"]]


class MotorCortexSpecConcurrency(TypedDict):
    """
    concurrency bounds how many runs of this namespace are carried out at the same time: one, if it says nothing else. In a namespace
    without a MotorCortex there is no bound.
    """

    # maxActive is the most runs that have begun and not ended. One that waits for a person, or is suspended, holds its place.
    maxActive: NotRequired[int]
    # whenBusy is what becomes of a run for which there is no place: it waits for its turn (Queue), or ends at once (Reject).
    whenBusy: NotRequired[Literal["Queue", "Reject"]]


class MotorCortexSpecEgress(TypedDict):
    """
    egress bounds what the runs of this namespace may reach.
    """

    # allowedDomains are the most that a run may be allowed, by its spec or by a person: each of its domains must be within one of these. An
    # empty list allows none; unset, there is no such bound.
    allowedDomains: NotRequired[list[str]]


class EnergyDrain(TypedDict):
    """
    EnergyDrain is what runs of one kind drain. Fields that are unset are those of the preset.
    """

    # base is drained when a run is accepted.
    base: NotRequired[str]
    # freeIterations is how many answers of the model the base pays for.
    freeIterations: NotRequired[int]
    # kind of the runs.
    kind: Literal["Oneshot", "OneshotNetwork", "Agentic", "AgenticBrowser"]
    # minimumLevel is the level from which on such a run is accepted. It never begins with less than its base.
    minimumLevel: NotRequired[str]
    # perIteration is drained for each further answer, when the run has ended.
    perIteration: NotRequired[str]


class MotorCortexSpecEnergy(TypedDict):
    """
    energy bounds how much the runs of this namespace do. Unset, there is no such bound.
    """

    # drains replace values of the preset, for each kind of run that they name.
    drains: NotRequired[list["EnergyDrain"]]
    # initial is the level with which the body begins, when energy is switched on.
    initial: NotRequired[str]
    # preset is the table of what runs drain. Variable: Oneshot 0.05, with domains 0.15; Agentic 0.1, with a browser 0.2, and from the sixth
    # answer of the model on 0.01 or 0.02 for each. Flat: Oneshot 0.05, with domains 0.15; Agentic 0.15, whatever it does.
    preset: NotRequired[Literal["Flat", "Variable"]]
    # regenerationPerHour is how much comes back in an hour, from 0 to below 1000. With 0 nothing comes back.
    regenerationPerHour: NotRequired[str]
    # whenTired is what becomes of a run for which the level is too low: it waits until there is enough (Queue), or ends at once (Reject).
    whenTired: NotRequired[Literal["Queue", "Reject"]]


class MotorCortexSpecModelsDefaultApiKeySecretRef(TypedDict):
    """
    apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
    and none otherwise: the manager's key is never sent to another endpoint.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class MotorCortexSpecModelsDefault(TypedDict):
    """
    default is for every role that has none of its own.
    """

    # apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset
    # too, and none otherwise: the manager's key is never sent to another endpoint.
    apiKeySecretRef: NotRequired["MotorCortexSpecModelsDefaultApiKeySecretRef"]
    # baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
    baseURL: NotRequired[str]
    # contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the endpoint's
    # own word for it counts as soon as it refuses a request for its length, and 128000 until then.
    contextTokens: NotRequired[int]
    # finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a
    # row ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool
    # call; whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and
    # one that says what the model is about to do.
    finish: NotRequired[Literal["Call", "Text"]]
    # idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole answer takes
    # is bounded by requestTimeoutSeconds alone.
    idleTimeoutSeconds: NotRequired[int]
    # model is the name that the endpoint knows the model by.
    model: str
    # outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt fails. It
    # counts anew for each outage.
    outageDeadlineSeconds: NotRequired[int]
    # requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
    requestTimeoutSeconds: NotRequired[int]


class MotorCortexSpecModelsFastApiKeySecretRef(TypedDict):
    """
    apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
    and none otherwise: the manager's key is never sent to another endpoint.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class MotorCortexSpecModelsFast(TypedDict):
    """
    fast is for the hint with which an attempt that failed suggests what to try next. Everything else is asked of motor.
    """

    # apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset
    # too, and none otherwise: the manager's key is never sent to another endpoint.
    apiKeySecretRef: NotRequired["MotorCortexSpecModelsFastApiKeySecretRef"]
    # baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
    baseURL: NotRequired[str]
    # contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the endpoint's
    # own word for it counts as soon as it refuses a request for its length, and 128000 until then.
    contextTokens: NotRequired[int]
    # finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a
    # row ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool
    # call; whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and
    # one that says what the model is about to do.
    finish: NotRequired[Literal["Call", "Text"]]
    # idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole answer takes
    # is bounded by requestTimeoutSeconds alone.
    idleTimeoutSeconds: NotRequired[int]
    # model is the name that the endpoint knows the model by.
    model: str
    # outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt fails. It
    # counts anew for each outage.
    outageDeadlineSeconds: NotRequired[int]
    # requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
    requestTimeoutSeconds: NotRequired[int]


class MotorCortexSpecModelsMotorApiKeySecretRef(TypedDict):
    """
    apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset too,
    and none otherwise: the manager's key is never sent to another endpoint.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class MotorCortexSpecModelsMotor(TypedDict):
    """
    motor drives the loop of a run.
    """

    # apiKeySecretRef is the key of a Secret in this namespace that holds the API key. Unset means the manager's key if baseURL is unset
    # too, and none otherwise: the manager's key is never sent to another endpoint.
    apiKeySecretRef: NotRequired["MotorCortexSpecModelsMotorApiKeySecretRef"]
    # baseURL is the endpoint's address up to and including its version, https://host/v1. Unset means the manager's.
    baseURL: NotRequired[str]
    # contextTokens is how many tokens a request and its answer may have together. A conversation is kept below it. Unset, the endpoint's
    # own word for it counts as soon as it refuses a request for its length, and 128000 until then.
    contextTokens: NotRequired[int]
    # finish is how the model ends a run. Call: with the tool finish; a text without a tool call gets one reminder, and a second one in a
    # row ends the attempt without success. Text, for a model that cannot call a tool at the end: with finish, or with a text and no tool
    # call; whatever text comes last is the result of a run that succeeded, but for an empty one, a tool call that is written as text, and
    # one that says what the model is about to do.
    finish: NotRequired[Literal["Call", "Text"]]
    # idleTimeoutSeconds is how long the endpoint may send nothing at all before its answer counts as lost. How long the whole answer takes
    # is bounded by requestTimeoutSeconds alone.
    idleTimeoutSeconds: NotRequired[int]
    # model is the name that the endpoint knows the model by.
    model: str
    # outageDeadlineSeconds is how long a run waits for a model that cannot be had, with its clock stopped, before its attempt fails. It
    # counts anew for each outage.
    outageDeadlineSeconds: NotRequired[int]
    # requestTimeoutSeconds is how long one answer may take, from the connection to its last byte.
    requestTimeoutSeconds: NotRequired[int]


class MotorCortexSpecModels(TypedDict):
    """
    models are the chat models that runs of this namespace may use. A role without a model of its own falls back: motor to fast, fast to
    default, default to the manager's.
    """

    # default is for every role that has none of its own.
    default: NotRequired["MotorCortexSpecModelsDefault"]
    # fast is for the hint with which an attempt that failed suggests what to try next. Everything else is asked of motor.
    fast: NotRequired["MotorCortexSpecModelsFast"]
    # motor drives the loop of a run.
    motor: NotRequired["MotorCortexSpecModelsMotor"]


class NotificationReceiverDigest(TypedDict):
    """
    digest says from when on many asks come in one message.
    """

    # asks is how many of them have a message of their own within a window. Reminders count, too.
    asks: NotRequired[int]
    # windowSeconds is the length of the window.
    windowSeconds: NotRequired[int]


class NotificationReceiverEmailPasswordSecretRef(TypedDict):
    """
    passwordSecretRef is the key of a Secret in this namespace that holds the password.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class NotificationReceiverEmailUsernameSecretRef(TypedDict):
    """
    usernameSecretRef is the key of a Secret in this namespace that holds the user name at the mail server. Unset, the manager does not log
    in.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class NotificationReceiverEmail(TypedDict):
    """
    email gets each message as an e-mail in plain text.
    """

    # caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
    caBundle: NotRequired[str]
    # host is the name of the mail server, or its IPv4 address. Its certificate must be for that.
    host: str
    # passwordSecretRef is the key of a Secret in this namespace that holds the password.
    passwordSecretRef: NotRequired["NotificationReceiverEmailPasswordSecretRef"]
    # port of the mail server, usually 587 with StartTLS and 465 with Implicit.
    port: NotRequired[int]
    # recipients are the addresses of the mailboxes. A server that refuses one of them is sent the message for none.
    recipients: list[str]
    # sender is the address that messages are from.
    sender: str
    # tls is how the connection is encrypted. StartTLS: after the greeting, and a server that does not offer it is sent nothing. Implicit:
    # from the first byte.
    tls: NotRequired[Literal["StartTLS", "Implicit"]]
    # usernameSecretRef is the key of a Secret in this namespace that holds the user name at the mail server. Unset, the manager does not
    # log in.
    usernameSecretRef: NotRequired["NotificationReceiverEmailUsernameSecretRef"]


class NotificationReceiverRunSelectorMatchExpressions(TypedDict):
    """
    A label selector requirement is a selector that contains values, a key, and an operator that relates the key and values.
    """

    # key is the label key that the selector applies to.
    key: str
    # operator represents a key's relationship to a set of values. Valid operators are In, NotIn, Exists and DoesNotExist.
    operator: str
    # values is an array of string values. If the operator is In or NotIn, the values array must be non-empty. If the operator is Exists or
    # DoesNotExist, the values array must be empty. This array is replaced during a strategic merge patch.
    values: NotRequired[list[str]]


class NotificationReceiverRunSelector(TypedDict):
    """
    runSelector selects the runs that the receiver is told of, by their labels; unset, all. Skills are told whatever it says.
    """

    # matchExpressions is a list of label selector requirements. The requirements are ANDed.
    matchExpressions: NotRequired[list["NotificationReceiverRunSelectorMatchExpressions"]]
    # matchLabels is a map of {key,value} pairs. A single {key,value} in the matchLabels map is equivalent to an element of
    # matchExpressions, whose key field is "key", the operator is "In", and the values array contains only "value". The requirements are
    # ANDed.
    matchLabels: NotRequired[dict[str, str]]


class NotificationReceiverSlackUrlSecretRef(TypedDict):
    """
    urlSecretRef is the key of a Secret in this namespace that holds the URL of the incoming webhook, which begins with https. Who knows the
    URL can write into the channel.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class NotificationReceiverSlack(TypedDict):
    """
    slack gets each message in a channel of Slack.
    """

    # buttons has messages about asks come with buttons. The webhook must be of an app of Slack whose interactivity leads to the page of the
    # cluster.
    buttons: NotRequired[bool]
    # urlSecretRef is the key of a Secret in this namespace that holds the URL of the incoming webhook, which begins with https. Who knows
    # the URL can write into the channel.
    urlSecretRef: "NotificationReceiverSlackUrlSecretRef"


class NotificationReceiverWebhookSigningKeySecretRef(TypedDict):
    """
    signingKeySecretRef is the key of a Secret in this namespace that holds the key by which messages are signed after Standard Webhooks,
    with HMAC-SHA256. Unset, they are not signed.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class NotificationReceiverWebhook(TypedDict):
    """
    webhook gets each message as JSON by HTTP POST.
    """

    # caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
    caBundle: NotRequired[str]
    # signingKeySecretRef is the key of a Secret in this namespace that holds the key by which messages are signed after Standard Webhooks,
    # with HMAC-SHA256. Unset, they are not signed.
    signingKeySecretRef: NotRequired["NotificationReceiverWebhookSigningKeySecretRef"]
    # url that the messages are posted to. Redirects are not followed.
    url: str


class NotificationReceiver(TypedDict):
    """
    NotificationReceiver is a channel that people read.
    """

    # digest says from when on many asks come in one message.
    digest: NotRequired["NotificationReceiverDigest"]
    # email gets each message as an e-mail in plain text.
    email: NotRequired["NotificationReceiverEmail"]
    # events are those that the receiver is told; unset or empty, all.
    events: NotRequired[list[Literal["Asks", "Ends", "Failures", "Skills"]]]
    # name of the receiver, for the status.
    name: str
    # remindBeforeSeconds is how long before its deadline an ask that is still open is told once more. Unset, it is not. An ask that had no
    # more time from the beginning is told once.
    remindBeforeSeconds: NotRequired[int]
    # runSelector selects the runs that the receiver is told of, by their labels; unset, all. Skills are told whatever it says.
    runSelector: NotRequired["NotificationReceiverRunSelector"]
    # slack gets each message in a channel of Slack.
    slack: NotRequired["NotificationReceiverSlack"]
    # webhook gets each message as JSON by HTTP POST.
    webhook: NotRequired["NotificationReceiverWebhook"]


class MotorCortexSpecNotifications(TypedDict):
    """
    notifications says which people are told what waits for them in this namespace, and how runs end.
    """

    # pageURL is where the page is for people, as in https://motor.example.org. Set, each message has a link to its run or skill there.
    pageURL: NotRequired[str]
    # receivers are told each on its own: one that is slow or away holds up no other, and no run.
    receivers: NotRequired[list["NotificationReceiver"]]


class MotorCortexSpecPackagesApt(TypedDict):
    """
    apt is a repository of Debian packages.
    """

    # components of the suite, as in main.
    components: NotRequired[list[str]]
    # keyring has the armored OpenPGP public keys that apt knows the repository by, in place of those of the sandbox image.
    keyring: NotRequired[str]
    # suite of the distribution, as in trixie, or a path that ends with a slash.
    suite: str
    # url of the repository, as in https://deb.example.org/debian.
    url: str


class MotorCortexSpecPackages(TypedDict):
    """
    packages is where the dependencies of skills are installed from. Unset, no skill can have any.
    """

    # apt is a repository of Debian packages.
    apt: NotRequired["MotorCortexSpecPackagesApt"]
    # caBundle has certificates of authorities, in PEM, by which these hosts are known, beside those of the sandbox image.
    caBundle: NotRequired[str]
    # hosts are further hosts that the files of packages come from.
    hosts: NotRequired[list[str]]
    # npm is the address of a registry for npm.
    npm: NotRequired[str]
    # pip is the address of a simple index for Python packages.
    pip: NotRequired[str]


class MotorCortexSpecRetention(TypedDict):
    """
    retention says how long, and how many, finished runs are kept, and how much of the cluster's storage runs may take.
    """

    # failedSeconds is how long a run that failed or was cancelled is kept, unless it says so itself: a week if unset, of mode Oneshot 10
    # minutes.
    failedSeconds: NotRequired[int]
    # maxFailed is how many runs that failed or were cancelled are kept, the newest; unset, there is no such limit. Runs of mode Oneshot do
    # not count.
    maxFailed: NotRequired[int]
    # maxStorage is the most bytes that the runs of the namespace may keep in the cluster, with their steps and artifacts: default 1Gi. Runs
    # that have not begun do not count. From four fifths of it on, runs of which the archive has everything are deleted before their time,
    # the oldest first. At all of it, no further run begins. At a quarter more, no run asks its model for another step.
    maxStorage: NotRequired[int | str]
    # maxSucceeded is how many runs that succeeded are kept, the newest; unset, there is no such limit. Runs of mode Oneshot do not count.
    maxSucceeded: NotRequired[int]
    # succeededSeconds is how long a run that succeeded is kept, unless it says so itself: a day if unset, of mode Oneshot 10 minutes.
    succeededSeconds: NotRequired[int]


class MotorCortexSpecSandbox(TypedDict):
    """
    sandbox bounds the shape of the sandboxes of this namespace, and names the pools that they come from.
    """

    # allowedStorageClasses are the StorageClasses that a run may name in sandbox.workspaceStorageClassName. Unset or empty, it may name
    # none. How much of a class all runs of the namespace may have together is for a ResourceQuota.
    allowedStorageClasses: NotRequired[list[str]]
    # pools are the SandboxPools of the namespace from which its runs take their sandboxes, in this order. A run that finds none of its
    # shape starts with a new one.
    pools: NotRequired[list[str]]


class MotorCortexSpecSearchApiKeySecretRef(TypedDict):
    """
    apiKeySecretRef is the key of a Secret in this namespace that holds the API key.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class MotorCortexSpecSearch(TypedDict):
    """
    search is where the tool search_web asks. Unset, the tool is not offered to any model.
    """

    # apiKeySecretRef is the key of a Secret in this namespace that holds the API key.
    apiKeySecretRef: NotRequired["MotorCortexSpecSearchApiKeySecretRef"]
    # type is the shape of its API.
    type: Literal["SearXNG", "Brave"]
    # url of a SearXNG instance, without /search; of Brave, where it is not its own.
    url: NotRequired[str]


class SignalSinkAuthorizationSecretRef(TypedDict):
    """
    authorizationSecretRef is the key of a Secret in this namespace that holds the whole value of the header Authorization, as in "Bearer
    abc". Unset, there is no such header.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class SignalSinkSigningKeySecretRef(TypedDict):
    """
    signingKeySecretRef is the key of a Secret in this namespace that holds the key by which signals are signed after Standard Webhooks,
    with HMAC-SHA256. Unset, they are not signed.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class SignalSink(TypedDict):
    """
    SignalSink is a service that takes CloudEvents by HTTP POST, in structured mode. The manager sends them, not the sandbox.
    """

    # authorizationSecretRef is the key of a Secret in this namespace that holds the whole value of the header Authorization, as in "Bearer
    # abc". Unset, there is no such header.
    authorizationSecretRef: NotRequired["SignalSinkAuthorizationSecretRef"]
    # caBundle has certificates of authorities, in PEM, by which the host is known, in place of those of the manager's image.
    caBundle: NotRequired[str]
    # events are those that the sink is told; unset or empty, all.
    events: NotRequired[list[Literal["RunStarted", "RunProgress", "RunAwaitingInput", "RunCompleted", "RunFailed", "RunCancelled", "SkillPendingReview", "SkillAwaitingApproval", "SkillApproved", "SkillNeedsReapproval", "SkillRejected", "SkillRevoked"]]]
    # name of the sink, for the status.
    name: str
    # signingKeySecretRef is the key of a Secret in this namespace that holds the key by which signals are signed after Standard Webhooks,
    # with HMAC-SHA256. Unset, they are not signed.
    signingKeySecretRef: NotRequired["SignalSinkSigningKeySecretRef"]
    # url that the signals are posted to. Redirects are not followed.
    url: str


class MotorCortexSpecSignals(TypedDict):
    """
    signals says which services are told what becomes of the runs and skills of this namespace.
    """

    # sinks are the services that are told, each on its own: one that is slow or away holds up no other, and no run.
    sinks: NotRequired[list["SignalSink"]]


class MotorCortexSpec(TypedDict):
    """
    MotorCortexSpec is what the runs of a namespace have in common.
    """

    # approval says who may decide for the runs of this namespace.
    approval: NotRequired["MotorCortexSpecApproval"]
    # budget says what models cost, and what the runs of this namespace may spend on them. Unset, nothing is counted but tokens, and nothing
    # is bounded.
    budget: NotRequired["MotorCortexSpecBudget"]
    # concurrency bounds how many runs of this namespace are carried out at the same time: one, if it says nothing else. In a namespace
    # without a MotorCortex there is no bound.
    concurrency: NotRequired["MotorCortexSpecConcurrency"]
    # egress bounds what the runs of this namespace may reach.
    egress: NotRequired["MotorCortexSpecEgress"]
    # energy bounds how much the runs of this namespace do. Unset, there is no such bound.
    energy: NotRequired["MotorCortexSpecEnergy"]
    # models are the chat models that runs of this namespace may use. A role without a model of its own falls back: motor to fast, fast to
    # default, default to the manager's.
    models: NotRequired["MotorCortexSpecModels"]
    # notifications says which people are told what waits for them in this namespace, and how runs end.
    notifications: NotRequired["MotorCortexSpecNotifications"]
    # packages is where the dependencies of skills are installed from. Unset, no skill can have any.
    packages: NotRequired["MotorCortexSpecPackages"]
    # retention says how long, and how many, finished runs are kept, and how much of the cluster's storage runs may take.
    retention: NotRequired["MotorCortexSpecRetention"]
    # sandbox bounds the shape of the sandboxes of this namespace, and names the pools that they come from.
    sandbox: NotRequired["MotorCortexSpecSandbox"]
    # search is where the tool search_web asks. Unset, the tool is not offered to any model.
    search: NotRequired["MotorCortexSpecSearch"]
    # signals says which services are told what becomes of the runs and skills of this namespace.
    signals: NotRequired["MotorCortexSpecSignals"]


class BudgetRaise(TypedDict):
    """
    BudgetRaise is what a person added to a bound.
    """

    # cost that was added.
    cost: NotRequired[str]
    # id of the ask.
    id: str
    # runUID of the run that asked.
    runUID: str
    # tokens that were added.
    tokens: NotRequired[int]


class MotorCortexStatusBudgetDay(TypedDict):
    """
    day is the latest day of UTC in which a run spent something.
    """

    # cost that was spent or is reserved.
    cost: NotRequired[str]
    # period is the day, as in 2026-11-27, or the month, as in 2026-11.
    period: str
    # raises are what people added to the bound in this period.
    raises: NotRequired[list["BudgetRaise"]]
    # tokens that were spent or are reserved.
    tokens: NotRequired[int]


class MotorCortexStatusBudgetMonth(TypedDict):
    """
    month is the latest month of UTC in which a run spent something.
    """

    # cost that was spent or is reserved.
    cost: NotRequired[str]
    # period is the day, as in 2026-11-27, or the month, as in 2026-11.
    period: str
    # raises are what people added to the bound in this period.
    raises: NotRequired[list["BudgetRaise"]]
    # tokens that were spent or are reserved.
    tokens: NotRequired[int]


class BudgetShare(TypedDict):
    """
    BudgetShare is what a run may spend before it asks for more.
    """

    # callCost is the most that one call of the share costs.
    callCost: NotRequired[str]
    # callTokens are the most tokens of one call of the share. They count as spent if the worker ended in the middle of a call.
    callTokens: NotRequired[int]
    # epoch of the claim on the run under which the share was taken.
    epoch: NotRequired[int]
    # requester is the entry of requesters that the run counts for.
    requester: NotRequired[str]
    # reservationTime is when the share was taken.
    reservationTime: NotRequired[str]
    # reservedCost is the cost of the share.
    reservedCost: NotRequired[str]
    # reservedTokens are the tokens of the share.
    reservedTokens: NotRequired[int]
    # runName of the run.
    runName: NotRequired[str]
    # runUID of the run.
    runUID: str
    # settledCost is which cost of the run's steps the sums have in them.
    settledCost: NotRequired[str]
    # settledTokens is how many tokens of the run's steps the sums have in them.
    settledTokens: NotRequired[int]


class RequesterBudget(TypedDict):
    """
    RequesterBudget is what the runs of one requester spent in a day.
    """

    # cost that was spent or is reserved.
    cost: NotRequired[str]
    # name of the requester, or the hash of a name that is too long or cannot be shown.
    name: str
    # raises are what people added to the bound in this day.
    raises: NotRequired[list["BudgetRaise"]]
    # tokens that were spent or are reserved.
    tokens: NotRequired[int]


class MotorCortexStatusBudget(TypedDict):
    """
    budget is what the runs of the namespace have spent, unset where no bound of spec.budget is about all of them.
    """

    # currency of the costs. With another one the sums begin anew.
    currency: NotRequired[str]
    # day is the latest day of UTC in which a run spent something.
    day: NotRequired["MotorCortexStatusBudgetDay"]
    # month is the latest month of UTC in which a run spent something.
    month: NotRequired["MotorCortexStatusBudgetMonth"]
    # open are the shares of runs that ask a model now. They are part of all sums, and what a run did not use of its share is taken out when
    # it pauses.
    open: NotRequired[list["BudgetShare"]]
    # requesters have an entry each for what their runs spent in the day. If there are too many, the others share the entry "*".
    requesters: NotRequired[list["RequesterBudget"]]


class MotorCortexStatusConditions(TypedDict):
    """
    Condition contains details for one aspect of the current state of this API Resource.
    """

    # lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying
    # condition changed. If that is not known, then using the time when the API field changed is acceptable.
    lastTransitionTime: str
    # message is a human readable message indicating details about the transition. This may be an empty string.
    message: str
    # observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
    # currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
    # the instance.
    observedGeneration: NotRequired[int]
    # reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
    # types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
    # be a CamelCase string. This field may not be empty.
    reason: str
    # status of the condition, one of True, False, Unknown.
    status: Literal["True", "False", "Unknown"]
    # type of condition in CamelCase or in foo.example.com/CamelCase.
    type: str


class EnergyOpen(TypedDict):
    """
    EnergyOpen is a run that has drained its base and is not settled.
    """

    # base that was drained when the run was accepted.
    base: str
    # freeIterations is how many answers of the model the base pays for.
    freeIterations: NotRequired[int]
    # kind of the run.
    kind: Literal["Oneshot", "OneshotNetwork", "Agentic", "AgenticBrowser"]
    # perIteration is drained for each further answer, when the run has ended; unset means nothing.
    perIteration: NotRequired[str]
    # runName is the name of the run.
    runName: str
    # runUID is the UID of the run. It drains only once.
    runUID: str
    # time at which it was drained.
    time: str


class EnergyPossible(TypedDict):
    """
    EnergyPossible says from when on a kind of run is possible.
    """

    # kind of the runs.
    kind: Literal["Oneshot", "OneshotNetwork", "Agentic", "AgenticBrowser"]
    # minimumLevel is the level that they need.
    minimumLevel: str
    # time from which on the level is enough, unset if it never will be.
    time: NotRequired[str]


class EnergySettled(TypedDict):
    """
    EnergySettled is a run that was settled.
    """

    # base that was drained when it was accepted.
    base: str
    # consumed is what it cost altogether. It is 0 if the run ended before it was accepted: the base was given back.
    consumed: str
    # kind of the run.
    kind: Literal["Oneshot", "OneshotNetwork", "Agentic", "AgenticBrowser"]
    # runName is the name of the run.
    runName: str
    # runUID is the UID of the run.
    runUID: str
    # time at which it was settled.
    time: str


class MotorCortexStatusEnergy(TypedDict):
    """
    energy is how much the body has, and what drained it; unset while spec.energy is.
    """

    # level at observedTime.
    level: str
    # observedTime is up to when regeneration is in level. What came back since then is not. It never goes back, even if the clock does, but
    # for one that is further ahead than the time of a whole regeneration.
    observedTime: str
    # open are the runs that have drained their base and are not settled: they have not ended, or have ended just now.
    open: NotRequired[list["EnergyOpen"]]
    # possible says from when on the level is enough for each kind of run, if nothing else drains it.
    possible: NotRequired[list["EnergyPossible"]]
    # recent are the runs that were settled last, the latest first.
    recent: NotRequired[list["EnergySettled"]]
    # regenerationPerHour is how much comes back in an hour from observedTime on.
    regenerationPerHour: str


class SinkStatusConditions(TypedDict):
    """
    Condition contains details for one aspect of the current state of this API Resource.
    """

    # lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying
    # condition changed. If that is not known, then using the time when the API field changed is acceptable.
    lastTransitionTime: str
    # message is a human readable message indicating details about the transition. This may be an empty string.
    message: str
    # observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
    # currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
    # the instance.
    observedGeneration: NotRequired[int]
    # reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
    # types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
    # be a CamelCase string. This field may not be empty.
    reason: str
    # status of the condition, one of True, False, Unknown.
    status: Literal["True", "False", "Unknown"]
    # type of condition in CamelCase or in foo.example.com/CamelCase.
    type: str


class SinkStatus(TypedDict):
    """
    SinkStatus says how a sink takes its signals.
    """

    # conditions are what programs read: SinkReady.
    conditions: NotRequired[list["SinkStatusConditions"]]
    # dropped is how many signals the sink was not told: those that it refused for good, and those of deleted runs for which there was no
    # room or whose end is not known.
    dropped: NotRequired[int]
    # lastDeliveryTime is when the sink last took a signal, as far as it was written.
    lastDeliveryTime: NotRequired[str]
    # lastFailure says why. Of a sink outside of the cluster it has the code of the answer.
    lastFailure: NotRequired[str]
    # lastFailureTime is when it last did not, as far as it was written.
    lastFailureTime: NotRequired[str]
    # name of the sink.
    name: str
    # settledTime is the instant before which nothing is left to tell the sink. A manager that begins to lead tells it what happened later.
    settledTime: NotRequired[str]


class MotorCortexStatusStorage(TypedDict):
    """
    storage is what the runs of the namespace keep in the cluster.
    """

    # max is the most that they may keep: spec.retention.maxStorage or its default.
    max: int | str
    # used is about how many bytes they keep, with their steps and artifacts. It is written anew when it has changed by a twentieth of max.
    used: int | str


class MotorCortexStatus(TypedDict):
    """
    MotorCortexStatus reports whether runs of the namespace find the services that the MotorCortex names. The operator checks them when the
    spec changes and every five minutes, every minute while one of them is not available.
    """

    # budget is what the runs of the namespace have spent, unset where no bound of spec.budget is about all of them.
    budget: NotRequired["MotorCortexStatusBudget"]
    # conditions are what programs read: Ready, StorageAvailable, NotificationsReady, and one for each service that is configured.
    conditions: NotRequired[list["MotorCortexStatusConditions"]]
    # energy is how much the body has, and what drained it; unset while spec.energy is.
    energy: NotRequired["MotorCortexStatusEnergy"]
    # model is the name of the model that drives the runs of the namespace which name none themselves, unset if there is none.
    model: NotRequired[str]
    # observedGeneration is the generation of the spec that this status speaks of.
    observedGeneration: NotRequired[int]
    # receivers say the same of each of spec.notifications.receivers.
    receivers: NotRequired[list["SinkStatus"]]
    # sinks say how each of spec.signals.sinks takes its signals. It is written when a sink begins to fail or to take signals again, and
    # else at most once a minute, and once an hour while nothing is delivered.
    sinks: NotRequired[list["SinkStatus"]]
    # storage is what the runs of the namespace keep in the cluster.
    storage: NotRequired["MotorCortexStatusStorage"]


class MotorCortex(TypedDict):
    """
    MotorCortex is an agent's body: the models and defaults of the runs in its namespace.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # MotorCortexSpec is what the runs of a namespace have in common.
    spec: "MotorCortexSpec"
    # MotorCortexStatus reports whether runs of the namespace find the services that the MotorCortex names. The operator checks them when
    # the spec changes and every five minutes, every minute while one of them is not available.
    status: NotRequired["MotorCortexStatus"]


class AcceptCommand(TypedDict):
    """
    AcceptCommand is a command that must end with status 0.
    """

    # command line, run by bash -c in the workspace.
    command: str
    # timeoutSeconds until the command and everything that it started is killed, which counts as failed.
    timeoutSeconds: NotRequired[int]


class MotorRunSpecAccept(TypedDict):
    """
    accept says what must hold before the run counts as done. The policy of an approved skill may ask for more.
    """

    # commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
    # not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
    commands: NotRequired[list["AcceptCommand"]]
    # files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
    files: NotRequired[list[str]]
    # valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
    # $defs of the schema itself.
    valueSchema: NotRequired[str]


class MotorRunSpecApprovalBash(TypedDict):
    """
    bash says which commands need approval.
    """

    # commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever
    # else it has; so does one that cannot be told before it runs.
    commands: list[str]


class MotorRunSpecApprovalFetch(TypedDict):
    """
    fetch says which requests need approval.
    """

    # methods of the requests.
    methods: list[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]]


class MotorRunSpecApproval(TypedDict):
    """
    approval says what needs a person.
    """

    # bash says which commands need approval.
    bash: NotRequired["MotorRunSpecApprovalBash"]
    # fetch says which requests need approval.
    fetch: NotRequired["MotorRunSpecApprovalFetch"]
    # mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
    mcpTools: NotRequired[list[str]]
    # onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
    # told (Model). Calls that only read are made again without asking anybody.
    onUnknown: NotRequired[Literal["Person", "Model"]]
    # required says which tool calls a person must approve before they are made. The rules below add to it.
    required: NotRequired[Literal["Never", "Irreversible", "Always"]]
    # tools whose calls all need approval.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class MotorRunSpecBash(TypedDict):
    """
    bash narrows the bash tool.
    """

    # allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told
    # to evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
    # refused. An empty list allows none; unset, any program of the image may be run.
    allowedCommands: NotRequired[list[str]]


class MotorRunSpecBudget(TypedDict):
    """
    budget is the most that the run may spend on models, all attempts together. It narrows perRun of the namespace's MotorCortex, and never
    widens it. At the bound the run waits for a person, who can raise it. A cost needs a currency and prices in the MotorCortex.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorRunSpecCode(TypedDict):
    """
    code is what a Oneshot run executes.
    """

    # expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two:
    # status.result.summary repeats the description.
    expectedOutput: NotRequired[str]
    # language of the source.
    language: Literal["javascript", "python"]
    # purpose says for people why the code is run. kubectl get -o wide shows it.
    purpose: NotRequired[str]
    # source is the program.
    source: str
    # timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
    timeoutMilliseconds: NotRequired[int]


class CredentialSecretRef(TypedDict):
    """
    secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on that Secret.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class CredentialSlot(TypedDict):
    """
    slot is where in a request the value belongs.
    """

    # name of the header or of the parameter in the query.
    name: NotRequired[str]
    # type of the slot: Bearer or Basic (the header Authorization; for Basic the value is user:password), Header or Query.
    type: NotRequired[Literal["Bearer", "Basic", "Header", "Query"]]


class Credential(TypedDict):
    """
    Credential is a Secret that the run may use without seeing it.
    """

    # exposeToSandbox puts the value itself into the environment variable, for what is not HTTP. The sandbox, and with it the model, can
    # read it then. The creator of the run needs the verb approve on MotorRuns.
    exposeToSandbox: NotRequired[bool]
    # hosts are the only ones that the value is sent to. Each must be within domains.
    hosts: NotRequired[list[str]]
    # name by which the model knows it, as <credential:name>. Programs in the sandbox find a stand-in for the value in the environment
    # variable of that name in upper case.
    name: str
    # secretRef is the key of a Secret in this namespace that has the value. The creator of the run needs the verb use on that Secret.
    secretRef: "CredentialSecretRef"
    # slot is where in a request the value belongs.
    slot: NotRequired["CredentialSlot"]


class MotorRunSpecDependencies(TypedDict):
    """
    dependencies are what a run of mode Install installs.
    """

    # apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of theirs is run
    # when they are unpacked.
    apt: NotRequired[list[str]]
    # npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
    npm: NotRequired[list[str]]
    # pip packages, as in requests==2.32.3 or name[extra]==1.0.
    pip: NotRequired[list[str]]


class InputFileArtifactRef(TypedDict):
    """
    artifactRef names an artifact of an earlier run in this namespace.
    """

    # digest is "sha256:…" of the content that is meant: "sha256:" and sha256 of status.result.artifacts. Any other content is not put
    # into the workspace: the run has left another file since.
    digest: NotRequired[str]
    # path of the artifact, as status.result.artifacts has it.
    path: str
    # runName that has it in status.result.artifacts.
    runName: str


class InputFileConfigMapKeyRef(TypedDict):
    """
    configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
    """

    # digest is "sha256:…" of the content that is meant. Any other content is not put into the workspace: the ConfigMap was changed.
    digest: NotRequired[str]
    # key in data or binaryData.
    key: str
    # name of the ConfigMap.
    name: str


class InputFile(TypedDict):
    """
    InputFile is a file for the workspace.
    """

    # artifactRef names an artifact of an earlier run in this namespace.
    artifactRef: NotRequired["InputFileArtifactRef"]
    # configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
    configMapKeyRef: NotRequired["InputFileConfigMapKeyRef"]
    # content of the file.
    content: NotRequired[str]
    # path in the workspace, with / between folders.
    path: str


class RunInput(TypedDict):
    """
    RunInput is a value for an input of the skill.
    """

    # name of the input.
    name: str
    # value, in the form that its type has in JSON, without quotes: 3, true, some text.
    value: str


class MotorRunSpecLimits(TypedDict):
    """
    limits bound the run.
    """

    # activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits for people,
    # for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
    activeDeadlineSeconds: NotRequired[int]
    # approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run
    # goes on.
    approvalDeadlineSeconds: NotRequired[int]
    # inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
    inputDeadlineSeconds: NotRequired[int]
    # maxIterations is the most answers that the model may give in the first attempt; further attempts have three quarters of that. When the
    # conversation fills 60 % of the model's window, its largest older results are shortened, and where that is not enough its older part is
    # replaced by a summary.
    maxIterations: NotRequired[int]
    # maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there is
    # no such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
    maxTokens: NotRequired[int]
    # retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
    retryDeadlineSeconds: NotRequired[int]


class MCPServer(TypedDict):
    """
    MCPServer is a server of the Model Context Protocol. Its tools are called mcp__NAME__TOOL.
    """

    # command starts a server in the sandbox that speaks on standard input and output: a program and its arguments.
    command: NotRequired[list[str]]
    # credentialName is the name of one of spec.credentials, whose slot must be of type Bearer: it goes with every request to url.
    credentialName: NotRequired[str]
    # name of the server, for the names of its tools.
    name: str
    # tools of the server that the model may use. No others are offered.
    tools: list[str]
    # url of a server that speaks Streamable HTTP. Its host must be one of the run's domains: the sandbox reaches it through the egress
    # proxy, like everything else.
    url: NotRequired[str]


class MotorRunSpecModel(TypedDict):
    """
    model chooses the model; unset, the namespace's MotorCortex does.
    """

    # name is asked of the same endpoint instead of the configured model.
    name: str


class MotorRunSpecQuestions(TypedDict):
    """
    questions says how the questions of the model are dealt with.
    """

    # onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the
    # default that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
    onTimeout: NotRequired[Literal["Fail", "Deny", "UseDefault"]]


class MotorRunSpecRequester(TypedDict):
    """
    requester is who created the run. Admission fills it in, where the cluster can, and refuses any other.
    """

    # groups of the user.
    groups: NotRequired[list[str]]
    # username of the user.
    username: str


class MotorRunSpecResponsesBudget(TypedDict):
    """
    budget is the amount by which the decision Raise raises the bound.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class ResponseFileArtifactRef(TypedDict):
    """
    artifactRef names an artifact of another run in this namespace.
    """

    # digest is "sha256:…" of the content that is meant: "sha256:" and sha256 of status.result.artifacts. Any other content is not put
    # into the workspace: the run has left another file since.
    digest: NotRequired[str]
    # path of the artifact, as status.result.artifacts has it.
    path: str
    # runName that has it in status.result.artifacts.
    runName: str


class ResponseFileConfigMapKeyRef(TypedDict):
    """
    configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
    """

    # digest is "sha256:…" of the content that is meant. Any other content is not put into the workspace: the ConfigMap was changed.
    digest: NotRequired[str]
    # key in data or binaryData.
    key: str
    # name of the ConfigMap.
    name: str


class ResponseFile(TypedDict):
    """
    ResponseFile is a file that goes with an answer.
    """

    # artifactRef names an artifact of another run in this namespace.
    artifactRef: NotRequired["ResponseFileArtifactRef"]
    # binaryContent of any other file, in base64.
    binaryContent: NotRequired[str]
    # configMapKeyRef names a ConfigMap in this namespace and the key in it whose value is the content.
    configMapKeyRef: NotRequired["ResponseFileConfigMapKeyRef"]
    # content of a file that is text.
    content: NotRequired[str]
    # path below the folder answers of the workspace, with / between folders. No part of it begins with a dot. It has 255 bytes at most.
    path: str


class MotorRunSpecResponses(TypedDict):
    """
    Response answers one question.
    """

    # addDomains are hosts that the sandbox may reach from the next attempt on. They need the verb approve on the run.
    addDomains: NotRequired[list[str]]
    # answer is given to the model, word for word.
    answer: NotRequired[str]
    # budget is the amount by which the decision Raise raises the bound.
    budget: NotRequired["MotorRunSpecResponsesBudget"]
    # decision about an input of another kind than Question. AllowOnce, AllowRun, ApproveOnce, ApproveRun, Deny and Raise need the verb
    # approve on the run. The others, and answers, need the verb respond.
    decision: NotRequired[Literal["AllowOnce", "AllowRun", "ApproveOnce", "ApproveRun", "Deny", "Retry", "Skip", "Done", "Stop", "Raise"]]
    # digest of the tool call that is approved or denied: status.pendingInputs[].action.argsDigest.
    digest: NotRequired[str]
    # files go with the answer: they are put into the folder answers of the workspace before the model reads it. The person who answers must
    # be allowed to get the objects that they name.
    files: NotRequired[list["ResponseFile"]]
    # guidance tells the model of the next attempt what to do differently. It goes with the decision Retry about an attempt that failed.
    guidance: NotRequired[str]
    # id of the question: status.pendingInputs[].id.
    id: str
    # reason of any other decision than Retry. The model is told it as the words of the person, and the end of a run that was stopped has
    # it.
    reason: NotRequired[str]
    # respondedBy is who answered. Admission fills it in, where the cluster can, and refuses any other name.
    respondedBy: NotRequired[str]


class MotorRunSpecSandboxResources(TypedDict):
    """
    resources are the limits of the sandbox. Requests are a tenth of the CPU and a quarter of the memory.
    """

    # cpu is the most processor time: default 1.
    cpu: NotRequired[int | str]
    # memory is the most memory, the files in the sandbox's /tmp not counted: default 1Gi.
    memory: NotRequired[int | str]
    # workspace is the most that the files in the workspace may have: default 1Gi.
    workspace: NotRequired[int | str]


class MotorRunSpecSandbox(TypedDict):
    """
    sandbox changes the sandbox's shape.
    """

    # resources are the limits of the sandbox. Requests are a tenth of the CPU and a quarter of the memory.
    resources: NotRequired["MotorRunSpecSandboxResources"]
    # runtimeClassName is the RuntimeClass of the Pod, gvisor for example.
    runtimeClassName: NotRequired[str]
    # workspaceStorageClassName is the StorageClass of a volume that holds the workspace alone, as large as resources.workspace, which it
    # can then in no way exceed. The volume comes and goes with the Pod. The namespace's MotorCortex must list the class in
    # sandbox.allowedStorageClasses. Unset, the workspace is a folder on the node's disk, which the tool server bounds.
    workspaceStorageClassName: NotRequired[str]


class MotorRunSpecSkillRef(TypedDict):
    """
    skillRef is the skill that the run uses. Its policy gives the run its tools, domains and credentials; a run that names some itself has
    no others. A skill that is not approved can be used with what the run itself names only.
    """

    # name of the Skill in this namespace.
    name: str
    # revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
    revisionName: NotRequired[str]


class MotorRunSpec(TypedDict):
    """
    MotorRunSpec is one task to carry out. Only responses, suspend, ttlSecondsAfterFinished and cancel may change after creation, and origin
    of a copy.
    """

    # accept says what must hold before the run counts as done. The policy of an approved skill may ask for more.
    accept: NotRequired["MotorRunSpecAccept"]
    # approval says what needs a person.
    approval: NotRequired["MotorRunSpecApproval"]
    # bash narrows the bash tool.
    bash: NotRequired["MotorRunSpecBash"]
    # budget is the most that the run may spend on models, all attempts together. It narrows perRun of the namespace's MotorCortex, and
    # never widens it. At the bound the run waits for a person, who can raise it. A cost needs a currency and prices in the MotorCortex.
    budget: NotRequired["MotorRunSpecBudget"]
    # cancel ends the run, in any phase, for ever.
    cancel: NotRequired[bool]
    # cancelledBy is who set cancel. Admission fills it in, where the cluster can, and refuses any other name.
    cancelledBy: NotRequired[str]
    # code is what a Oneshot run executes.
    code: NotRequired["MotorRunSpecCode"]
    # credentials are Secrets that the run may use for the hosts that each is bound to. Neither the model nor the sandbox sees a value: the
    # egress proxy puts it into the requests.
    credentials: NotRequired[list["Credential"]]
    # dependencies are what a run of mode Install installs.
    dependencies: NotRequired["MotorRunSpecDependencies"]
    # domains are the only hosts that the sandbox may reach: example.org, *.example.org (its subdomains, not itself), example.org:8443. The
    # port is 443 if none is given.
    domains: NotRequired[list[str]]
    # extractSkills says when skills that the run wrote or changed are kept as proposals.
    extractSkills: NotRequired[Literal["OnSuccess", "Always", "Never"]]
    # files are put into the workspace before the first step. Those with content have 512 KiB together in JSON.
    files: NotRequired[list["InputFile"]]
    # inputs are values for the inputs of the skill.
    inputs: NotRequired[list["RunInput"]]
    # keep says what of the workspace is kept, at each end of the run and whenever it waits for a person. Without a model nothing is.
    keep: NotRequired[Literal["Changes", "Artifacts", "Nothing"]]
    # limits bound the run.
    limits: NotRequired["MotorRunSpecLimits"]
    # maxAttempts is how many attempts at the task there may be, the first one included. After an attempt that failed the run waits for a
    # decision in responses, unless it was the last one. Attempts that the operator makes by itself, because the sandbox was lost, do not
    # count.
    maxAttempts: NotRequired[int]
    # mcpServers are servers of the Model Context Protocol whose tools the model may use.
    mcpServers: NotRequired[list["MCPServer"]]
    # mode is Agentic (a model decides what is done) or Oneshot (one piece of code, no model).
    mode: NotRequired[Literal["Agentic", "Oneshot", "Install"]]
    # model chooses the model; unset, the namespace's MotorCortex does.
    model: NotRequired["MotorRunSpecModel"]
    # origin is Created, or Copied for a run that was made of a copy of another one, from a backup for example: it may have been carried out
    # already, so it waits until a person sets Released. The API server fills it in, where the cluster can, over whatever the client wrote.
    origin: NotRequired[Literal["Created", "Copied", "Released"]]
    # priority orders the runs that wait for their turn in the namespace: the highest first, among equals the oldest.
    priority: NotRequired[int]
    # questions says how the questions of the model are dealt with.
    questions: NotRequired["MotorRunSpecQuestions"]
    # requester is who created the run. Admission fills it in, where the cluster can, and refuses any other.
    requester: NotRequired["MotorRunSpecRequester"]
    # responses answer what the run asked in status.pendingInputs. An entry can be added, never changed or removed. The answers have 256 KiB
    # together in JSON, with reasons, guidance and files.
    responses: NotRequired[list["MotorRunSpecResponses"]]
    # sandbox changes the sandbox's shape.
    sandbox: NotRequired["MotorRunSpecSandbox"]
    # skillRef is the skill that the run uses. Its policy gives the run its tools, domains and credentials; a run that names some itself has
    # no others. A skill that is not approved can be used with what the run itself names only.
    skillRef: NotRequired["MotorRunSpecSkillRef"]
    # skillReview has the model look at the files of skillRef and say what it thinks of them, with tools that only read and without a
    # network, in one attempt of 10 answers at most. Its task is the operator's own; spec.task is a note for people. What it says is stored
    # with the SkillRevision, as advice, with who made the run.
    skillReview: NotRequired[bool]
    # suspend stops the run where it is, and starts it again from there when it is taken back. The sandbox stays. A run that is created
    # suspended does not start. The time does not count for activeDeadlineSeconds.
    suspend: NotRequired[bool]
    # suspendedBy is who set suspend. Admission fills it in, where the cluster can, and refuses any other name.
    suspendedBy: NotRequired[str]
    # task says in plain language what is to be done.
    task: NotRequired[str]
    # tools are what the model may use. Nothing else is offered to it, but for ask_user and finish, which always are.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]
    # ttlSecondsAfterFinished is how long the run is kept after its end, and its steps with it. Unset, the namespace's MotorCortex decides;
    # without one, a run that succeeded is kept for a day and any other for a week, of mode Oneshot either for 10 minutes.
    ttlSecondsAfterFinished: NotRequired[int]


class MotorRunStatusArchive(TypedDict):
    """
    archive says where the steps are that are not in the cluster any more.
    """

    # head is "sha256:…" of the last link of its chain: with it, a cut at the end is seen.
    head: str
    # key of the object in the bucket.
    key: str
    # steps is how many it holds.
    steps: int


class Artifact(TypedDict):
    """
    Artifact is a file that a run leaves behind.
    """

    # configMapName in this namespace whose key "content" has it: text in data, other content in binaryData.
    configMapName: NotRequired[str]
    # mediaType by its name and its first bytes.
    mediaType: NotRequired[str]
    # message says more about that.
    message: NotRequired[str]
    # objectKey is the key of it in the manager's bucket.
    objectKey: NotRequired[str]
    # path in the workspace.
    path: str
    # provenance is Web if the content may come from the web.
    provenance: NotRequired[Literal["Web", "Internal"]]
    # sha256 of the content in hexadecimal digits.
    sha256: NotRequired[str]
    # size in bytes.
    size: NotRequired[int]
    # skipped says why it is not kept.
    skipped: NotRequired[Literal["TooLarge", "LimitReached", "SecretFound", "NotRegular", "Unreadable", "NotStored"]]


class AttemptStatusFailure(TypedDict):
    """
    failure says why it ended without success.
    """

    # category is the kind of failure.
    category: Literal["ToolFailure", "ModelFailure", "InfraFailure", "BudgetExhausted", "InvalidTask", "Incomplete", "Unknown"]
    # hint is a model's guess at the cause and the cure, and not more than that.
    hint: NotRequired[str]
    # lastStepName is the last step before the failure, by name.
    lastStepName: NotRequired[str]
    # message is for people.
    message: NotRequired[str]
    # reason is a CamelCase word for programs.
    reason: str
    # retryable is true if another attempt may succeed although nothing was changed. It does not say that this run may have one: after a
    # timeout, that is another run.
    retryable: NotRequired[bool]
    # suggestedAction is what to do about it.
    suggestedAction: NotRequired[Literal["RetryWithGuidance", "AskUser", "Stop"]]


class CallHead(TypedDict):
    """
    CallHead is the head of a tool call and its result.
    """

    # durationMilliseconds is how long the call took, in milliseconds.
    durationMilliseconds: NotRequired[int]
    # errorCode is a word for programs.
    errorCode: NotRequired[str]
    # head is the beginning of the output.
    head: NotRequired[str]
    # id of the call.
    id: str
    # ok is false if the tool failed, or has no result.
    ok: bool
    # startTime is set if the call has no result: when it began. In an attempt that has ended it never got one.
    startTime: NotRequired[str]
    # tool that was called.
    tool: str


class AttemptStatusUsage(TypedDict):
    """
    usage of its model calls.
    """

    # cachedTokens is the part of promptTokens that the endpoint served from its cache.
    cachedTokens: NotRequired[int]
    completionTokens: NotRequired[int]
    # cost of the tokens by the prices of the time of the call, unset where the model has no price.
    cost: NotRequired[str]
    # currency of the cost.
    currency: NotRequired[str]
    # estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of
    # the request and of the answer.
    estimated: NotRequired[bool]
    promptTokens: NotRequired[int]
    # totalTokens is promptTokens and completionTokens together.
    totalTokens: NotRequired[int]
    # unpriced says that a part of the tokens is not in the cost, because their model had no price.
    unpriced: NotRequired[bool]


class AttemptStatus(TypedDict):
    """
    AttemptStatus is one attempt at the task.
    """

    # cause says why it was made.
    cause: NotRequired[Literal["First", "Retry", "Infrastructure"]]
    # completionTime is when it ended.
    completionTime: NotRequired[str]
    # failure says why it ended without success.
    failure: NotRequired["AttemptStatusFailure"]
    # index is the number of the attempt. The first one is 1.
    index: int
    # iterations is how many answers the model gave in it.
    iterations: NotRequired[int]
    # lastCalls are its last tool calls, the newest last.
    lastCalls: NotRequired[list["CallHead"]]
    # recoveryContext is what the model is told of the attempts before, in its system prompt.
    recoveryContext: NotRequired[str]
    # startTime is when the attempt began.
    startTime: NotRequired[str]
    # usage of its model calls.
    usage: NotRequired["AttemptStatusUsage"]


class MotorRunStatusConditions(TypedDict):
    """
    Condition contains details for one aspect of the current state of this API Resource.
    """

    # lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying
    # condition changed. If that is not known, then using the time when the API field changed is acceptable.
    lastTransitionTime: str
    # message is a human readable message indicating details about the transition. This may be an empty string.
    message: str
    # observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
    # currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
    # the instance.
    observedGeneration: NotRequired[int]
    # reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
    # types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
    # be a CamelCase string. This field may not be empty.
    reason: str
    # status of the condition, one of True, False, Unknown.
    status: Literal["True", "False", "Unknown"]
    # type of condition in CamelCase or in foo.example.com/CamelCase.
    type: str


class MotorRunStatusEgress(TypedDict):
    """
    egress is what the sandbox may reach, unset while it may reach nothing.
    """

    # attempt that the proxy knows the sandbox's token of. The first one is 1.
    attempt: NotRequired[int]
    # credentials are the names of those that the proxy puts in now, or that the sandbox was given (exposeToSandbox).
    credentials: NotRequired[list[str]]
    # domains that the egress proxy lets the sandbox reach now.
    domains: NotRequired[list[str]]
    # proxy is the address of the egress proxy, IP:port.
    proxy: NotRequired[str]


class MotorRunStatusEndingFailure(TypedDict):
    """
    failure is set if the run fails for a reason that no step tells of.
    """

    # category is the kind of failure.
    category: Literal["ToolFailure", "ModelFailure", "InfraFailure", "BudgetExhausted", "InvalidTask", "Incomplete", "Unknown"]
    # hint is a model's guess at the cause and the cure, and not more than that.
    hint: NotRequired[str]
    # lastStepName is the last step before the failure, by name.
    lastStepName: NotRequired[str]
    # message is for people.
    message: NotRequired[str]
    # reason is a CamelCase word for programs.
    reason: str
    # retryable is true if another attempt may succeed although nothing was changed. It does not say that this run may have one: after a
    # timeout, that is another run.
    retryable: NotRequired[bool]
    # suggestedAction is what to do about it.
    suggestedAction: NotRequired[Literal["RetryWithGuidance", "AskUser", "Stop"]]


class MotorRunStatusEnding(TypedDict):
    """
    ending is set from the moment in which the end of the run was decided until what it leaves behind was collected.
    """

    # decisionTime is when the end was decided.
    decisionTime: str
    # failure is set if the run fails for a reason that no step tells of.
    failure: NotRequired["MotorRunStatusEndingFailure"]
    # message says what happened, unset where the last step does.
    message: NotRequired[str]
    # reason of the conditions Succeeded and Finished that the run will have.
    reason: str


class MotorRunStatusEnergy(TypedDict):
    """
    energy is what the run drains from the energy of its namespace, unset where that is not configured.
    """

    # base that was drained when the run was accepted.
    base: str
    # consumed is what the run cost altogether, unset until it has ended.
    consumed: NotRequired[str]
    # freeIterations is how many answers of the model the base pays for.
    freeIterations: NotRequired[int]
    # kind of the run.
    kind: Literal["Oneshot", "OneshotNetwork", "Agentic", "AgenticBrowser"]
    # perIteration is drained for each further answer, when the run has ended; unset means nothing.
    perIteration: NotRequired[str]


class MotorRunStatusExecution(TypedDict):
    """
    execution says which replica of the manager carries the run on.
    """

    # epoch counts how often the run was given to a worker. Journal and sandbox refuse a lower one.
    epoch: NotRequired[int]
    # worker is the replica of the manager that carries the run on.
    worker: NotRequired[str]


class MotorRunStatusLosses(TypedDict):
    """
    losses are the ends of workers that carried the run on and did not give it back; unset, there were none lately.
    """

    # aloneEpoch is the epoch in which a worker carries on this run alone, unset while none does.
    aloneEpoch: NotRequired[int]
    # aloneStartTime is since when.
    aloneStartTime: NotRequired[str]
    # count is how many workers in succession, at most ten minutes apart, ended while they carried the run on and did not give it back. From
    # 2 on the run is carried on by a worker that carries on nothing else.
    count: NotRequired[int]
    # lastLossTime is when the last of them was found to have ended.
    lastLossTime: NotRequired[str]
    # setAside says that two workers in succession ended that carried on nothing else: the run is carried on again when it was suspended and
    # resumed.
    setAside: NotRequired[bool]
    # trials is how often the run was carried on alone.
    trials: NotRequired[int]
    # trialsLost is how many of them in succession, up to the last one, ended with the end of the worker.
    trialsLost: NotRequired[int]


class MotorRunStatusPaused(TypedDict):
    """
    paused counts the time that does not count for spec.limits.activeDeadlineSeconds, questions of the model not included.
    """

    # durationSeconds of all pauses that are over.
    durationSeconds: NotRequired[int]
    # observedTime is the end of the last time without a manager that led which was counted; unset, the run lived through none.
    observedTime: NotRequired[str]
    # startTime is when the present pause began, unset while there is none.
    startTime: NotRequired[str]


class PendingInputAction(TypedDict):
    """
    action is the tool call that is to be approved, set for kind Approval.
    """

    # argsDigest is "sha256:…" of tool and arguments. A response names it, so that it can only be about this call.
    argsDigest: str
    # arguments in canonical JSON, with sorted keys and everything escaped that could deceive the eye. If they are longer than fits here,
    # the middle is left out; the step has them whole.
    arguments: NotRequired[str]
    # check says that the call is a command of spec.accept, and not the model's.
    check: NotRequired[bool]
    # reason says by which rule it needs approval, and what of the call the rule is about.
    reason: NotRequired[str]
    # rule that ApproveRun approves for the run, unset where only this call can be approved.
    rule: NotRequired[str]
    # tool that is called.
    tool: str


class PendingInputRaiseBy(TypedDict):
    """
    raiseBy is the amount that is proposed, set for kind BudgetExhausted. A response can name another one.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class PendingInput(TypedDict):
    """
    PendingInput is what a run waits for.
    """

    # action is the tool call that is to be approved, set for kind Approval.
    action: NotRequired["PendingInputAction"]
    # answered says that there is an answer, which is about to be put to use.
    answered: NotRequired[bool]
    # askTime is when the question was asked.
    askTime: NotRequired[str]
    # attempt that the decision Retry starts, set for kind Retry. The id names the attempt that failed, which is the one before.
    attempt: NotRequired[int]
    # default is the answer that the model would choose.
    default: NotRequired[str]
    # domain that is asked for, set for kind DomainRequest.
    domain: NotRequired[str]
    # expirationTime is until when there is time for an answer.
    expirationTime: NotRequired[str]
    # files that the model wants with the answer to a Question, in its words. An answer may bring others, or none.
    files: NotRequired[list[str]]
    # id to answer to, in spec.responses[].id.
    id: str
    # kind of the input.
    kind: Literal["Question", "OutcomeUnknown", "Retry", "DomainRequest", "Approval", "BudgetExhausted"]
    # onTimeout is what becomes of it then: the run fails, it counts as Deny, or default counts as the answer.
    onTimeout: NotRequired[Literal["Fail", "Deny", "UseDefault"]]
    # options to choose from. Another answer is allowed to a Question, and to no other kind.
    options: NotRequired[list[str]]
    # question in full.
    question: NotRequired[str]
    # raiseBy is the amount that is proposed, set for kind BudgetExhausted. A response can name another one.
    raiseBy: NotRequired["PendingInputRaiseBy"]
    # stepName that asked, by name.
    stepName: NotRequired[str]
    # title is the beginning of the question, for a column.
    title: NotRequired[str]


class MotorRunStatusResultPackages(TypedDict):
    """
    packages are what a run of mode Install installed.
    """

    # configMapNames of this namespace that hold the parts, in their order.
    configMapNames: list[str]
    # sha256 of the whole in hexadecimal digits.
    sha256: str
    # size of the whole in bytes.
    size: NotRequired[int]


class ProposedSkill(TypedDict):
    """
    ProposedSkill is a skill that a run wrote or changed.
    """

    # changedFiles is how many files were changed or added, deletedFiles how many were deleted.
    changedFiles: NotRequired[int]
    deletedFiles: NotRequired[int]
    # name of the Skill.
    name: str
    # revisionName that holds what the run wrote.
    revisionName: str


class RejectedSkill(TypedDict):
    """
    RejectedSkill is a folder that was not taken for a skill.
    """

    # message says why.
    message: NotRequired[str]
    # path of the folder in the workspace, "." for the workspace itself.
    path: str


class MotorRunStatusResultSkills(TypedDict):
    """
    skills are those that the run wrote or changed.
    """

    # created are new Skills.
    created: NotRequired[list["ProposedSkill"]]
    # rejected are folders that were not taken.
    rejected: NotRequired[list["RejectedSkill"]]
    # updated are Skills that have a new revision to be reviewed.
    updated: NotRequired[list["ProposedSkill"]]


class MotorRunStatusResultStats(TypedDict):
    """
    stats count what it took.
    """

    # cost of all model calls together, as far as their models have prices.
    cost: NotRequired[str]
    # currency of the cost.
    currency: NotRequired[str]
    # durationMilliseconds from the creation of the run to its end.
    durationMilliseconds: NotRequired[int]
    # energyCost is what the run drained from the energy of its namespace, unset where that is not configured.
    energyCost: NotRequired[str]
    # errors is how many of them failed.
    errors: NotRequired[int]
    # iterations is how many answers the model gave.
    iterations: NotRequired[int]
    # modelMilliseconds spent in model calls.
    modelMilliseconds: NotRequired[int]
    # overheadMilliseconds is the rest: starting the sandbox, writing the journal.
    overheadMilliseconds: NotRequired[int]
    # tokens of all model calls together.
    tokens: NotRequired[int]
    # toolCalls is how many tool calls ended.
    toolCalls: NotRequired[int]
    # toolMilliseconds spent in tool calls.
    toolMilliseconds: NotRequired[int]
    # waitingMilliseconds spent waiting for people.
    waitingMilliseconds: NotRequired[int]


class MotorRunStatusResult(TypedDict):
    """
    result is set when the run has ended.
    """

    # artifacts are the files that the run leaves behind.
    artifacts: NotRequired[list["Artifact"]]
    # artifactsOmitted is how many further files there were that are not listed, and not kept.
    artifactsOmitted: NotRequired[int]
    # notCollected says why artifacts or skills are missing that no entry of artifacts and skills names, unset if none are.
    notCollected: NotRequired[str]
    # ok is true if the task was done.
    ok: bool
    # packages are what a run of mode Install installed.
    packages: NotRequired["MotorRunStatusResultPackages"]
    # partial is what the model said that it did, or what it had to show when its answers were used up (reason MaxIterations).
    partial: NotRequired[str]
    # skills are those that the run wrote or changed.
    skills: NotRequired["MotorRunStatusResultSkills"]
    # stats count what it took.
    stats: NotRequired["MotorRunStatusResultStats"]
    # summary is the model's closing text, or why the run failed.
    summary: NotRequired[str]
    # value is the result as JSON. Of an Agentic run with spec.accept.valueSchema it is what the model gave, in at most 8 KiB. Of a Oneshot
    # run it is what the code came to: {"ok", "value", "console", "durationMs", "error": {"code", "message"}}. That has at most 32 KiB, and
    # 64 KiB as a JSON string. If it is longer, console is left out of it; of a value that still does not fit, the first 4 KiB of its JSON
    # are in "head", and "truncated" is true. The run's step has the same.
    value: NotRequired[str]


class MotorRunStatusSandbox(TypedDict):
    """
    sandbox is where the run's tools work.
    """

    # creationTime is when the Pod was created.
    creationTime: NotRequired[str]
    # isolationLossTime is when one of its NetworkPolicies was last found changed or gone. No call is made in it before its isolation was
    # proved again after that.
    isolationLossTime: NotRequired[str]
    # nodeIP is the address of the Pod's node, which the sandbox must not reach.
    nodeIP: NotRequired[str]
    # nodeName is the Pod's node.
    nodeName: NotRequired[str]
    # podIP is where its tool server listens.
    podIP: NotRequired[str]
    # podName of the sandbox.
    podName: NotRequired[str]
    # podUID tells this Pod from a later one of the same name.
    podUID: NotRequired[str]
    # poolName is the SandboxPool that the Pod comes from, unset if it was made for the run.
    poolName: NotRequired[str]


class MotorRunStatusSkillPackages(TypedDict):
    """
    packages that the sandbox has.
    """

    # configMapNames of this namespace that hold the parts, in their order.
    configMapNames: list[str]
    # sha256 of the whole in hexadecimal digits.
    sha256: str
    # size of the whole in bytes.
    size: NotRequired[int]


class MotorRunStatusSkillPolicyAccept(TypedDict):
    """
    accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
    """

    # commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
    # not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
    commands: NotRequired[list["AcceptCommand"]]
    # files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
    files: NotRequired[list[str]]
    # valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
    # $defs of the schema itself.
    valueSchema: NotRequired[str]


class MotorRunStatusSkillPolicyApprovalBash(TypedDict):
    """
    bash says which commands need approval.
    """

    # commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever
    # else it has; so does one that cannot be told before it runs.
    commands: list[str]


class MotorRunStatusSkillPolicyApprovalFetch(TypedDict):
    """
    fetch says which requests need approval.
    """

    # methods of the requests.
    methods: list[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]]


class MotorRunStatusSkillPolicyApproval(TypedDict):
    """
    approval says what needs a person, beside what the run itself says.
    """

    # bash says which commands need approval.
    bash: NotRequired["MotorRunStatusSkillPolicyApprovalBash"]
    # fetch says which requests need approval.
    fetch: NotRequired["MotorRunStatusSkillPolicyApprovalFetch"]
    # mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
    mcpTools: NotRequired[list[str]]
    # onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
    # told (Model). Calls that only read are made again without asking anybody.
    onUnknown: NotRequired[Literal["Person", "Model"]]
    # required says which tool calls a person must approve before they are made. The rules below add to it.
    required: NotRequired[Literal["Never", "Irreversible", "Always"]]
    # tools whose calls all need approval.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class MotorRunStatusSkillPolicyBash(TypedDict):
    """
    bash narrows the bash tool.
    """

    # allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told
    # to evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
    # refused. An empty list allows none; unset, any program of the image may be run.
    allowedCommands: NotRequired[list[str]]


class SkillCredentialSecretRef(TypedDict):
    """
    secretRef is the key of a Secret in this namespace that has the value. Unset, each run names its own, in spec.credentials. The creator
    of the run needs the verb use on it.
    """

    # key in the Secret.
    key: str
    # name of the Secret.
    name: str


class SkillCredentialSlot(TypedDict):
    """
    slot is where in a request the value belongs, as in spec.credentials of a MotorRun.
    """

    # name of the header or of the parameter in the query.
    name: NotRequired[str]
    # type of the slot: Bearer or Basic (the header Authorization; for Basic the value is user:password), Header or Query.
    type: NotRequired[Literal["Bearer", "Basic", "Header", "Query"]]


class SkillCredential(TypedDict):
    """
    SkillCredential is a credential that a skill needs.
    """

    # hosts are the only ones that the value is sent to. Each must be within domains.
    hosts: list[str]
    # name by which the model knows it, as <credential:name>, and that files of the skill use in upper case as an environment variable.
    name: str
    # secretRef is the key of a Secret in this namespace that has the value. Unset, each run names its own, in spec.credentials. The creator
    # of the run needs the verb use on it.
    secretRef: NotRequired["SkillCredentialSecretRef"]
    # slot is where in a request the value belongs, as in spec.credentials of a MotorRun.
    slot: NotRequired["SkillCredentialSlot"]


class MotorRunStatusSkillPolicyDependencies(TypedDict):
    """
    dependencies are packages that are installed for the skill, before its runs.
    """

    # apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of theirs is run
    # when they are unpacked.
    apt: NotRequired[list[str]]
    # npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
    npm: NotRequired[list[str]]
    # pip packages, as in requests==2.32.3 or name[extra]==1.0.
    pip: NotRequired[list[str]]


class SkillInput(TypedDict):
    """
    SkillInput is something that a run of the skill is given.
    """

    # default is the value if a run gives none.
    default: NotRequired[str]
    # description for the person who fills it in. A run without a required input is told it.
    description: NotRequired[str]
    # name of the input.
    name: str
    # options are the only values that are allowed, if there are any.
    options: NotRequired[list[str]]
    # required says that a run without a value is refused.
    required: NotRequired[bool]
    # type that the value must have.
    type: NotRequired[Literal["string", "integer", "number", "boolean"]]


class MotorRunStatusSkillPolicy(TypedDict):
    """
    policy that applies.
    """

    # accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
    accept: NotRequired["MotorRunStatusSkillPolicyAccept"]
    # approval says what needs a person, beside what the run itself says.
    approval: NotRequired["MotorRunStatusSkillPolicyApproval"]
    # bash narrows the bash tool.
    bash: NotRequired["MotorRunStatusSkillPolicyBash"]
    # credentials that the skill needs.
    credentials: NotRequired[list["SkillCredential"]]
    # dependencies are packages that are installed for the skill, before its runs.
    dependencies: NotRequired["MotorRunStatusSkillPolicyDependencies"]
    # domains are the only hosts that the sandbox may reach.
    domains: NotRequired[list[str]]
    # inputs are what a run of the skill is given.
    inputs: NotRequired[list["SkillInput"]]
    # tools that the model may use.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class MotorRunStatusSkill(TypedDict):
    """
    skill that the run uses, as it was when the run was accepted.
    """

    # approved says that the skill was approved, so that its policy applies. Otherwise the run has what its own spec says and nothing of the
    # policy but inputs.
    approved: NotRequired[bool]
    # contentHash of the revision.
    contentHash: str
    # name of the Skill.
    name: str
    # packages that the sandbox has.
    packages: NotRequired["MotorRunStatusSkillPackages"]
    # policy that applies.
    policy: NotRequired["MotorRunStatusSkillPolicy"]
    # policyHash of the policy that applies, "" if none does.
    policyHash: NotRequired[str]
    # revisionName whose files the run has.
    revisionName: str


class MotorRunStatusUsage(TypedDict):
    """
    usage is what all model calls together cost.
    """

    # cachedTokens is the part of promptTokens that the endpoint served from its cache.
    cachedTokens: NotRequired[int]
    completionTokens: NotRequired[int]
    # cost of the tokens by the prices of the time of the call, unset where the model has no price.
    cost: NotRequired[str]
    # currency of the cost.
    currency: NotRequired[str]
    # estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of
    # the request and of the answer.
    estimated: NotRequired[bool]
    promptTokens: NotRequired[int]
    # totalTokens is promptTokens and completionTokens together.
    totalTokens: NotRequired[int]
    # unpriced says that a part of the tokens is not in the cost, because their model had no price.
    unpriced: NotRequired[bool]


class MotorRunStatus(TypedDict):
    """
    MotorRunStatus is what the operator knows of a run. It is derived from the spec, the steps and the Pod.
    """

    # archive says where the steps are that are not in the cluster any more.
    archive: NotRequired["MotorRunStatusArchive"]
    # artifacts are the files that were collected when the run paused last. At the end they are in result.
    artifacts: NotRequired[list["Artifact"]]
    # attempts at the task, the first one first.
    attempts: NotRequired[list["AttemptStatus"]]
    # completionTime is when the run ended.
    completionTime: NotRequired[str]
    # conditions are what programs read.
    conditions: NotRequired[list["MotorRunStatusConditions"]]
    # egress is what the sandbox may reach, unset while it may reach nothing.
    egress: NotRequired["MotorRunStatusEgress"]
    # ending is set from the moment in which the end of the run was decided until what it leaves behind was collected.
    ending: NotRequired["MotorRunStatusEnding"]
    # energy is what the run drains from the energy of its namespace, unset where that is not configured.
    energy: NotRequired["MotorRunStatusEnergy"]
    # execution says which replica of the manager carries the run on.
    execution: NotRequired["MotorRunStatusExecution"]
    # losses are the ends of workers that carried the run on and did not give it back; unset, there were none lately.
    losses: NotRequired["MotorRunStatusLosses"]
    # message says in one sentence how the run stands.
    message: NotRequired[str]
    # model is the name of the model that the run uses.
    model: NotRequired[str]
    # observedGeneration is the generation of the spec that this status speaks of.
    observedGeneration: NotRequired[int]
    # paused counts the time that does not count for spec.limits.activeDeadlineSeconds, questions of the model not included.
    paused: NotRequired["MotorRunStatusPaused"]
    # pendingInputs are what the run waits for, one for each ask that is open. A run asks one thing at a time at present.
    pendingInputs: NotRequired[list["PendingInput"]]
    # pendingKind is the kind of the first of pendingInputs, unset once there is an answer. A list of runs can be restricted to it with a
    # field selector.
    pendingKind: NotRequired[Literal["Question", "OutcomeUnknown", "Retry", "DomainRequest", "Approval", "BudgetExhausted"]]
    # phase is a word for people.
    phase: NotRequired[Literal["Created", "Running", "AwaitingInput", "AwaitingApproval", "Completed", "Failed", "Cancelled"]]
    # reason is why the run does not go on: the reason of the condition that it waits for. It is Running while the run goes on, and the
    # reason of Succeeded when it has ended.
    reason: NotRequired[str]
    # result is set when the run has ended.
    result: NotRequired["MotorRunStatusResult"]
    # sandbox is where the run's tools work.
    sandbox: NotRequired["MotorRunStatusSandbox"]
    # skill that the run uses, as it was when the run was accepted.
    skill: NotRequired["MotorRunStatusSkill"]
    # startTime is when the operator first saw the run.
    startTime: NotRequired[str]
    # steps is how many answers the model has given.
    steps: NotRequired[int]
    # usage is what all model calls together cost.
    usage: NotRequired["MotorRunStatusUsage"]


class MotorRun(TypedDict):
    """
    MotorRun is one task, carried out in a sandbox of its own.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # MotorRunSpec is one task to carry out. Only responses, suspend, ttlSecondsAfterFinished and cancel may change after creation, and
    # origin of a copy.
    spec: "MotorRunSpec"
    # MotorRunStatus is what the operator knows of a run. It is derived from the spec, the steps and the Pod.
    status: NotRequired["MotorRunStatus"]


class TemplateParameter(TypedDict):
    """
    TemplateParameter is a value that differs from run to run.
    """

    # default is the value if none is given. A parameter without one that is not required is the empty text then.
    default: NotRequired[str]
    # description says to people what the value is for.
    description: NotRequired[str]
    # enum are the only values that may be given.
    enum: NotRequired[list[str]]
    # name of the parameter, as in $(params.NAME).
    name: str
    # pattern is a regular expression (RE2) for the whole of a value that is given.
    pattern: NotRequired[str]
    # required refuses a run for which no value is given.
    required: NotRequired[bool]


class MotorRunTemplateSpecRequester(TypedDict):
    """
    requester is who wrote parameters and runTemplate last. Admission fills it in, where the cluster can, and refuses any other.
    """

    # groups of the user.
    groups: NotRequired[list[str]]
    # username of the user.
    username: str


class MotorRunTemplateSpecRunTemplateMetadata(TypedDict):
    """
    metadata of each run.
    """

    # annotations of each run. Those of motorcortex.dev/ are the operator's.
    annotations: NotRequired[dict[str, str]]
    # labels of each run. Those of motorcortex.dev/ are the operator's.
    labels: NotRequired[dict[str, str]]


class MotorRunTemplateSpecRunTemplateSpecAccept(TypedDict):
    """
    accept is spec.accept of the run.
    """

    # commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
    # not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
    commands: NotRequired[list["AcceptCommand"]]
    # files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
    files: NotRequired[list[str]]
    # valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
    # $defs of the schema itself.
    valueSchema: NotRequired[str]


class MotorRunTemplateSpecRunTemplateSpecApprovalBash(TypedDict):
    """
    bash says which commands need approval.
    """

    # commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever
    # else it has; so does one that cannot be told before it runs.
    commands: list[str]


class MotorRunTemplateSpecRunTemplateSpecApprovalFetch(TypedDict):
    """
    fetch says which requests need approval.
    """

    # methods of the requests.
    methods: list[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]]


class MotorRunTemplateSpecRunTemplateSpecApproval(TypedDict):
    """
    approval is spec.approval of the run.
    """

    # bash says which commands need approval.
    bash: NotRequired["MotorRunTemplateSpecRunTemplateSpecApprovalBash"]
    # fetch says which requests need approval.
    fetch: NotRequired["MotorRunTemplateSpecRunTemplateSpecApprovalFetch"]
    # mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
    mcpTools: NotRequired[list[str]]
    # onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
    # told (Model). Calls that only read are made again without asking anybody.
    onUnknown: NotRequired[Literal["Person", "Model"]]
    # required says which tool calls a person must approve before they are made. The rules below add to it.
    required: NotRequired[Literal["Never", "Irreversible", "Always"]]
    # tools whose calls all need approval.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class MotorRunTemplateSpecRunTemplateSpecBash(TypedDict):
    """
    bash is spec.bash of the run.
    """

    # allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told
    # to evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
    # refused. An empty list allows none; unset, any program of the image may be run.
    allowedCommands: NotRequired[list[str]]


class MotorRunTemplateSpecRunTemplateSpecBudget(TypedDict):
    """
    budget is spec.budget of the run.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorRunTemplateSpecRunTemplateSpecCode(TypedDict):
    """
    code is spec.code of the run. Parameters do not change it: give them to the run in files.
    """

    # expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two:
    # status.result.summary repeats the description.
    expectedOutput: NotRequired[str]
    # language of the source.
    language: Literal["javascript", "python"]
    # purpose says for people why the code is run. kubectl get -o wide shows it.
    purpose: NotRequired[str]
    # source is the program.
    source: str
    # timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
    timeoutMilliseconds: NotRequired[int]


class MotorRunTemplateSpecRunTemplateSpecLimits(TypedDict):
    """
    limits is spec.limits of the run.
    """

    # activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits for people,
    # for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
    activeDeadlineSeconds: NotRequired[int]
    # approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run
    # goes on.
    approvalDeadlineSeconds: NotRequired[int]
    # inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
    inputDeadlineSeconds: NotRequired[int]
    # maxIterations is the most answers that the model may give in the first attempt; further attempts have three quarters of that. When the
    # conversation fills 60 % of the model's window, its largest older results are shortened, and where that is not enough its older part is
    # replaced by a summary.
    maxIterations: NotRequired[int]
    # maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there is
    # no such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
    maxTokens: NotRequired[int]
    # retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
    retryDeadlineSeconds: NotRequired[int]


class MotorRunTemplateSpecRunTemplateSpecModel(TypedDict):
    """
    model is spec.model of the run.
    """

    # name is asked of the same endpoint instead of the configured model.
    name: str


class MotorRunTemplateSpecRunTemplateSpecQuestions(TypedDict):
    """
    questions is spec.questions of the run.
    """

    # onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the
    # default that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
    onTimeout: NotRequired[Literal["Fail", "Deny", "UseDefault"]]


class MotorRunTemplateSpecRunTemplateSpecSandboxResources(TypedDict):
    """
    resources is spec.sandbox.resources of the run.
    """

    # cpu is the most processor time: default 1.
    cpu: NotRequired[int | str]
    # memory is the most memory: default 1Gi.
    memory: NotRequired[int | str]
    # workspace is the most that the files in the workspace may have: default 1Gi.
    workspace: NotRequired[int | str]


class MotorRunTemplateSpecRunTemplateSpecSandbox(TypedDict):
    """
    sandbox is spec.sandbox of the run.
    """

    # resources is spec.sandbox.resources of the run.
    resources: NotRequired["MotorRunTemplateSpecRunTemplateSpecSandboxResources"]
    # runtimeClassName is spec.sandbox.runtimeClassName of the run.
    runtimeClassName: NotRequired[str]
    # workspaceStorageClassName is spec.sandbox.workspaceStorageClassName of the run.
    workspaceStorageClassName: NotRequired[str]


class MotorRunTemplateSpecRunTemplateSpecSkillRef(TypedDict):
    """
    skillRef is spec.skillRef of the run.
    """

    # name of the Skill in this namespace.
    name: str
    # revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
    revisionName: NotRequired[str]


class MotorRunTemplateSpecRunTemplateSpec(TypedDict):
    """
    spec of each run.
    """

    # accept is spec.accept of the run.
    accept: NotRequired["MotorRunTemplateSpecRunTemplateSpecAccept"]
    # approval is spec.approval of the run.
    approval: NotRequired["MotorRunTemplateSpecRunTemplateSpecApproval"]
    # bash is spec.bash of the run.
    bash: NotRequired["MotorRunTemplateSpecRunTemplateSpecBash"]
    # budget is spec.budget of the run.
    budget: NotRequired["MotorRunTemplateSpecRunTemplateSpecBudget"]
    # code is spec.code of the run. Parameters do not change it: give them to the run in files.
    code: NotRequired["MotorRunTemplateSpecRunTemplateSpecCode"]
    # credentials is spec.credentials of the run. Who writes it needs the verb use on each Secret.
    credentials: NotRequired[list["Credential"]]
    # domains is spec.domains of the run.
    domains: NotRequired[list[str]]
    # extractSkills is spec.extractSkills of the run.
    extractSkills: NotRequired[Literal["OnSuccess", "Always", "Never"]]
    # files is spec.files of the run.
    files: NotRequired[list["InputFile"]]
    # inputs is spec.inputs of the run.
    inputs: NotRequired[list["RunInput"]]
    # keep is spec.keep of the run.
    keep: NotRequired[Literal["Changes", "Artifacts", "Nothing"]]
    # limits is spec.limits of the run.
    limits: NotRequired["MotorRunTemplateSpecRunTemplateSpecLimits"]
    # maxAttempts is spec.maxAttempts of the run.
    maxAttempts: NotRequired[int]
    # mcpServers is spec.mcpServers of the run.
    mcpServers: NotRequired[list["MCPServer"]]
    # mode of the run: Agentic or Oneshot.
    mode: NotRequired[Literal["Agentic", "Oneshot", "Install"]]
    # model is spec.model of the run.
    model: NotRequired["MotorRunTemplateSpecRunTemplateSpecModel"]
    # priority is spec.priority of the run.
    priority: NotRequired[int]
    # questions is spec.questions of the run.
    questions: NotRequired["MotorRunTemplateSpecRunTemplateSpecQuestions"]
    # sandbox is spec.sandbox of the run.
    sandbox: NotRequired["MotorRunTemplateSpecRunTemplateSpecSandbox"]
    # skillRef is spec.skillRef of the run.
    skillRef: NotRequired["MotorRunTemplateSpecRunTemplateSpecSkillRef"]
    # task is spec.task of the run.
    task: NotRequired[str]
    # tools is spec.tools of the run.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]
    # ttlSecondsAfterFinished is spec.ttlSecondsAfterFinished of the run.
    ttlSecondsAfterFinished: NotRequired[int]


class MotorRunTemplateSpecRunTemplate(TypedDict):
    """
    runTemplate is the run.
    """

    # metadata of each run.
    metadata: NotRequired["MotorRunTemplateSpecRunTemplateMetadata"]
    # spec of each run.
    spec: "MotorRunTemplateSpecRunTemplateSpec"


class MotorRunTemplateSpec(TypedDict):
    """
    MotorRunTemplateSpec is a run to be made again and again, and the parameters that differ each time.
    """

    # parameters are what differs from run to run. $(params.NAME) stands for the value of one in runTemplate.spec.task, the values of
    # runTemplate.spec.inputs and the contents of runTemplate.spec.files. No other field is changed. $$(params.NAME) is that text itself.
    parameters: NotRequired[list["TemplateParameter"]]
    # requester is who wrote parameters and runTemplate last. Admission fills it in, where the cluster can, and refuses any other.
    requester: NotRequired["MotorRunTemplateSpecRequester"]
    # runTemplate is the run.
    runTemplate: "MotorRunTemplateSpecRunTemplate"


class MotorRunTemplate(TypedDict):
    """
    MotorRunTemplate is a run that people, schedules and skills make again and again, with parameters. It has no status: the operator reads
    it when a run is made of it.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # MotorRunTemplateSpec is a run to be made again and again, and the parameters that differ each time.
    spec: "MotorRunTemplateSpec"


class MotorScheduleSpecRequester(TypedDict):
    """
    requester is who wrote the schedule last, suspend and the limits of its history aside. Its runs have the rights of that user. Admission
    fills it in, where the cluster can, and refuses any other.
    """

    # groups of the user.
    groups: NotRequired[list[str]]
    # username of the user.
    username: str


class MotorScheduleSpecRunTemplateMetadata(TypedDict):
    """
    metadata of each run.
    """

    # annotations of each run. Those of motorcortex.dev/ are the operator's.
    annotations: NotRequired[dict[str, str]]
    # labels of each run. Those of motorcortex.dev/ are the operator's.
    labels: NotRequired[dict[str, str]]


class MotorScheduleSpecRunTemplateSpecAccept(TypedDict):
    """
    accept is spec.accept of the run.
    """

    # commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
    # not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
    commands: NotRequired[list["AcceptCommand"]]
    # files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
    files: NotRequired[list[str]]
    # valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
    # $defs of the schema itself.
    valueSchema: NotRequired[str]


class MotorScheduleSpecRunTemplateSpecApprovalBash(TypedDict):
    """
    bash says which commands need approval.
    """

    # commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever
    # else it has; so does one that cannot be told before it runs.
    commands: list[str]


class MotorScheduleSpecRunTemplateSpecApprovalFetch(TypedDict):
    """
    fetch says which requests need approval.
    """

    # methods of the requests.
    methods: list[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]]


class MotorScheduleSpecRunTemplateSpecApproval(TypedDict):
    """
    approval is spec.approval of the run.
    """

    # bash says which commands need approval.
    bash: NotRequired["MotorScheduleSpecRunTemplateSpecApprovalBash"]
    # fetch says which requests need approval.
    fetch: NotRequired["MotorScheduleSpecRunTemplateSpecApprovalFetch"]
    # mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
    mcpTools: NotRequired[list[str]]
    # onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
    # told (Model). Calls that only read are made again without asking anybody.
    onUnknown: NotRequired[Literal["Person", "Model"]]
    # required says which tool calls a person must approve before they are made. The rules below add to it.
    required: NotRequired[Literal["Never", "Irreversible", "Always"]]
    # tools whose calls all need approval.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class MotorScheduleSpecRunTemplateSpecBash(TypedDict):
    """
    bash is spec.bash of the run.
    """

    # allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told
    # to evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
    # refused. An empty list allows none; unset, any program of the image may be run.
    allowedCommands: NotRequired[list[str]]


class MotorScheduleSpecRunTemplateSpecBudget(TypedDict):
    """
    budget is spec.budget of the run.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorScheduleSpecRunTemplateSpecCode(TypedDict):
    """
    code is spec.code of the run. Parameters do not change it: give them to the run in files.
    """

    # expectedOutput describes what the value should look like, for the reader who judges it. Nothing compares the two:
    # status.result.summary repeats the description.
    expectedOutput: NotRequired[str]
    # language of the source.
    language: Literal["javascript", "python"]
    # purpose says for people why the code is run. kubectl get -o wide shows it.
    purpose: NotRequired[str]
    # source is the program.
    source: str
    # timeoutMilliseconds is how long it may take, in milliseconds: 100 to 5000, in a run with domains 100 to 30000. Unset, it is the most.
    timeoutMilliseconds: NotRequired[int]


class MotorScheduleSpecRunTemplateSpecLimits(TypedDict):
    """
    limits is spec.limits of the run.
    """

    # activeDeadlineSeconds is how long the run may take, all attempts together, from its creation. The time in which it waits for people,
    # for its turn, for room for its sandbox, for a model that cannot be had, or is suspended does not count.
    activeDeadlineSeconds: NotRequired[int]
    # approvalDeadlineSeconds is how long a person may take to approve a tool call, 30 days at most. Then it counts as denied, and the run
    # goes on.
    approvalDeadlineSeconds: NotRequired[int]
    # inputDeadlineSeconds is how long the run waits for an answer to each question, 30 days at most.
    inputDeadlineSeconds: NotRequired[int]
    # maxIterations is the most answers that the model may give in the first attempt; further attempts have three quarters of that. When the
    # conversation fills 60 % of the model's window, its largest older results are shortened, and where that is not enough its older part is
    # replaced by a summary.
    maxIterations: NotRequired[int]
    # maxTokens is the most tokens of all model calls of the run together, whatever they are for and in whichever attempt; unset, there is
    # no such limit. It is looked at before each call, with what the request has at least; the answer to the last one may go beyond it.
    maxTokens: NotRequired[int]
    # retryDeadlineSeconds is how long the sandbox and its workspace are kept after an attempt that failed, for a retry, 30 days at most.
    retryDeadlineSeconds: NotRequired[int]


class MotorScheduleSpecRunTemplateSpecModel(TypedDict):
    """
    model is spec.model of the run.
    """

    # name is asked of the same endpoint instead of the configured model.
    name: str


class MotorScheduleSpecRunTemplateSpecQuestions(TypedDict):
    """
    questions is spec.questions of the run.
    """

    # onTimeout is what becomes of a question without an answer within spec.limits.inputDeadlineSeconds: the run fails (Fail), or the
    # default that the model gave with it counts as the answer (UseDefault). A question without a default fails the run.
    onTimeout: NotRequired[Literal["Fail", "Deny", "UseDefault"]]


class MotorScheduleSpecRunTemplateSpecSandboxResources(TypedDict):
    """
    resources is spec.sandbox.resources of the run.
    """

    # cpu is the most processor time: default 1.
    cpu: NotRequired[int | str]
    # memory is the most memory: default 1Gi.
    memory: NotRequired[int | str]
    # workspace is the most that the files in the workspace may have: default 1Gi.
    workspace: NotRequired[int | str]


class MotorScheduleSpecRunTemplateSpecSandbox(TypedDict):
    """
    sandbox is spec.sandbox of the run.
    """

    # resources is spec.sandbox.resources of the run.
    resources: NotRequired["MotorScheduleSpecRunTemplateSpecSandboxResources"]
    # runtimeClassName is spec.sandbox.runtimeClassName of the run.
    runtimeClassName: NotRequired[str]
    # workspaceStorageClassName is spec.sandbox.workspaceStorageClassName of the run.
    workspaceStorageClassName: NotRequired[str]


class MotorScheduleSpecRunTemplateSpecSkillRef(TypedDict):
    """
    skillRef is spec.skillRef of the run.
    """

    # name of the Skill in this namespace.
    name: str
    # revisionName to use. Unset, it is the approved one; if the skill is not approved, the newest one.
    revisionName: NotRequired[str]


class MotorScheduleSpecRunTemplateSpec(TypedDict):
    """
    spec of each run.
    """

    # accept is spec.accept of the run.
    accept: NotRequired["MotorScheduleSpecRunTemplateSpecAccept"]
    # approval is spec.approval of the run.
    approval: NotRequired["MotorScheduleSpecRunTemplateSpecApproval"]
    # bash is spec.bash of the run.
    bash: NotRequired["MotorScheduleSpecRunTemplateSpecBash"]
    # budget is spec.budget of the run.
    budget: NotRequired["MotorScheduleSpecRunTemplateSpecBudget"]
    # code is spec.code of the run. Parameters do not change it: give them to the run in files.
    code: NotRequired["MotorScheduleSpecRunTemplateSpecCode"]
    # credentials is spec.credentials of the run. Who writes it needs the verb use on each Secret.
    credentials: NotRequired[list["Credential"]]
    # domains is spec.domains of the run.
    domains: NotRequired[list[str]]
    # extractSkills is spec.extractSkills of the run.
    extractSkills: NotRequired[Literal["OnSuccess", "Always", "Never"]]
    # files is spec.files of the run.
    files: NotRequired[list["InputFile"]]
    # inputs is spec.inputs of the run.
    inputs: NotRequired[list["RunInput"]]
    # keep is spec.keep of the run.
    keep: NotRequired[Literal["Changes", "Artifacts", "Nothing"]]
    # limits is spec.limits of the run.
    limits: NotRequired["MotorScheduleSpecRunTemplateSpecLimits"]
    # maxAttempts is spec.maxAttempts of the run.
    maxAttempts: NotRequired[int]
    # mcpServers is spec.mcpServers of the run.
    mcpServers: NotRequired[list["MCPServer"]]
    # mode of the run: Agentic or Oneshot.
    mode: NotRequired[Literal["Agentic", "Oneshot", "Install"]]
    # model is spec.model of the run.
    model: NotRequired["MotorScheduleSpecRunTemplateSpecModel"]
    # priority is spec.priority of the run.
    priority: NotRequired[int]
    # questions is spec.questions of the run.
    questions: NotRequired["MotorScheduleSpecRunTemplateSpecQuestions"]
    # sandbox is spec.sandbox of the run.
    sandbox: NotRequired["MotorScheduleSpecRunTemplateSpecSandbox"]
    # skillRef is spec.skillRef of the run.
    skillRef: NotRequired["MotorScheduleSpecRunTemplateSpecSkillRef"]
    # task is spec.task of the run.
    task: NotRequired[str]
    # tools is spec.tools of the run.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]
    # ttlSecondsAfterFinished is spec.ttlSecondsAfterFinished of the run.
    ttlSecondsAfterFinished: NotRequired[int]


class MotorScheduleSpecRunTemplate(TypedDict):
    """
    runTemplate is the run that begins each time. Its texts are used as they are: parameters are of runTemplateRef.
    """

    # metadata of each run.
    metadata: NotRequired["MotorScheduleSpecRunTemplateMetadata"]
    # spec of each run.
    spec: "MotorScheduleSpecRunTemplateSpec"


class ParameterValue(TypedDict):
    """
    ParameterValue is the value of a parameter.
    """

    # name of the parameter.
    name: str
    # value of the parameter.
    value: NotRequired[str]


class MotorScheduleSpecRunTemplateRef(TypedDict):
    """
    runTemplateRef names a MotorRunTemplate of the namespace, and gives values for its parameters.
    """

    # digest is "sha256:…" of the parameters and the runTemplate that are meant. No run begins while the template has others. It can be
    # unset only if the same user wrote the template and the schedule: else who changes the template would have the rights of who wrote the
    # schedule. The condition Ready says the digest.
    digest: NotRequired[str]
    # name of the MotorRunTemplate.
    name: str
    # parameters are values for parameters of the template.
    parameters: NotRequired[list["ParameterValue"]]


class MotorScheduleSpec(TypedDict):
    """
    MotorScheduleSpec is when runs begin, and which.
    """

    # catchUp says what becomes of starts that did not take place in their minute, because no manager was there, the schedule was suspended,
    # or Forbid kept them waiting: Last makes up for the last one of them, None for none.
    catchUp: NotRequired[Literal["Last", "None"]]
    # concurrencyPolicy says what becomes of a start while runs of the schedule have not ended: Allow, Forbid or Replace.
    concurrencyPolicy: NotRequired[Literal["Allow", "Forbid", "Replace"]]
    # failedRunsHistoryLimit is how many runs that ended in any other way are kept.
    failedRunsHistoryLimit: NotRequired[int]
    # requester is who wrote the schedule last, suspend and the limits of its history aside. Its runs have the rights of that user.
    # Admission fills it in, where the cluster can, and refuses any other.
    requester: NotRequired["MotorScheduleSpecRequester"]
    # runTemplate is the run that begins each time. Its texts are used as they are: parameters are of runTemplateRef.
    runTemplate: NotRequired["MotorScheduleSpecRunTemplate"]
    # runTemplateRef names a MotorRunTemplate of the namespace, and gives values for its parameters.
    runTemplateRef: NotRequired["MotorScheduleSpecRunTemplateRef"]
    # schedule is when runs begin, in the format of cron: five fields for minute, hour, day of the month, month and day of the week, or one
    # of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, or @every with a duration of a minute at least.
    schedule: str
    # startingDeadlineSeconds is how late a run may begin, after the time that schedule says. A later start is left out. Unset, there is no
    # such limit.
    startingDeadlineSeconds: NotRequired[int]
    # successfulRunsHistoryLimit is how many runs that succeeded are kept.
    successfulRunsHistoryLimit: NotRequired[int]
    # suspend lets no run begin. Runs that began go on.
    suspend: NotRequired[bool]
    # timeZone is the name of the zone by whose clocks schedule goes, Europe/Berlin for example. Unset, it is UTC.
    timeZone: NotRequired[str]


class ActiveRun(TypedDict):
    """
    ActiveRun is a run that has not ended.
    """

    # name of the MotorRun.
    name: str
    # uid of the MotorRun.
    uid: NotRequired[str]


class MotorScheduleStatusConditions(TypedDict):
    """
    Condition contains details for one aspect of the current state of this API Resource.
    """

    # lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying
    # condition changed. If that is not known, then using the time when the API field changed is acceptable.
    lastTransitionTime: str
    # message is a human readable message indicating details about the transition. This may be an empty string.
    message: str
    # observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
    # currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
    # the instance.
    observedGeneration: NotRequired[int]
    # reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
    # types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
    # be a CamelCase string. This field may not be empty.
    reason: str
    # status of the condition, one of True, False, Unknown.
    status: Literal["True", "False", "Unknown"]
    # type of condition in CamelCase or in foo.example.com/CamelCase.
    type: str


class MotorScheduleStatusLastSkipped(TypedDict):
    """
    lastSkipped is the last start that did not take place.
    """

    # reason why it did not.
    reason: Literal["TooLate", "StillActive", "Refused"]
    # time of schedule that the run would have begun for.
    time: str


class MotorScheduleStatus(TypedDict):
    """
    MotorScheduleStatus is what became of the starts of a schedule.
    """

    # active are runs of the schedule that have not ended, the oldest first. Of more than 64, it has the 64 newest.
    active: NotRequired[list["ActiveRun"]]
    # conditions of the schedule: Ready.
    conditions: NotRequired[list["MotorScheduleStatusConditions"]]
    # lastScheduleTime is the time of schedule that the last run began for. The run may have begun later than that.
    lastScheduleTime: NotRequired[str]
    # lastSkipped is the last start that did not take place.
    lastSkipped: NotRequired["MotorScheduleStatusLastSkipped"]
    # lastSuccessfulTime is when a run of the schedule succeeded last.
    lastSuccessfulTime: NotRequired[str]
    # nextScheduleTime is the time of schedule that the next run is to begin for.
    nextScheduleTime: NotRequired[str]
    # observedGeneration is the generation of the spec that the status is about.
    observedGeneration: NotRequired[int]


class MotorSchedule(TypedDict):
    """
    MotorSchedule has runs begin at times.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # MotorScheduleSpec is when runs begin, and which.
    spec: "MotorScheduleSpec"
    # MotorScheduleStatus is what became of the starts of a schedule.
    status: NotRequired["MotorScheduleStatus"]


class MotorStepSpecFailedUsage(TypedDict):
    """
    failedUsage is what tries of the same request cost that came to nothing, as far as the endpoint tells.
    """

    # cachedTokens is the part of promptTokens that the endpoint served from its cache.
    cachedTokens: NotRequired[int]
    completionTokens: NotRequired[int]
    # cost of the tokens by the prices of the time of the call, unset where the model has no price.
    cost: NotRequired[str]
    # currency of the cost.
    currency: NotRequired[str]
    # estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of
    # the request and of the answer.
    estimated: NotRequired[bool]
    promptTokens: NotRequired[int]
    # totalTokens is promptTokens and completionTokens together.
    totalTokens: NotRequired[int]
    # unpriced says that a part of the tokens is not in the cost, because their model had no price.
    unpriced: NotRequired[bool]


class MotorStepSpecOutageAskRaiseBy(TypedDict):
    """
    raiseBy is the amount that is proposed.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorStepSpecOutageAsk(TypedDict):
    """
    ask is set if the model is not asked because of a bound that a person can raise.
    """

    # id to answer to.
    id: str
    # raiseBy is the amount that is proposed.
    raiseBy: "MotorStepSpecOutageAskRaiseBy"


class MotorStepSpecOutage(TypedDict):
    """
    outage says why the model could not be had when that was first found. status.outage has what changed since.
    """

    # ask is set if the model is not asked because of a bound that a person can raise.
    ask: NotRequired["MotorStepSpecOutageAsk"]
    # deadlineSeconds is how long it is waited for, from the creation of the step.
    deadlineSeconds: int
    # message says what happened, where, and what to do.
    message: NotRequired[str]
    # mustAct is true if the model is not expected back before a person changes something.
    mustAct: NotRequired[bool]
    # reason is a reason of the condition ModelAvailable.
    reason: str


class MotorStepSpecOutcome(TypedDict):
    """
    outcome says how the attempt ended.
    """

    # category is the kind of failure.
    category: Literal["ToolFailure", "ModelFailure", "InfraFailure", "BudgetExhausted", "InvalidTask", "Incomplete", "Unknown"]
    # hint is a model's guess at the cause and the cure.
    hint: NotRequired[str]
    # message is for people.
    message: NotRequired[str]
    # reason is a CamelCase word for programs.
    reason: str
    # retryable is true if another attempt may succeed although nothing was changed.
    retryable: NotRequired[bool]


class MCPPin(TypedDict):
    """
    MCPPin says which tools of an MCP server the model is told of.
    """

    # digest is "sha256:…" of names, descriptions and schemas of its tools. A server that describes them otherwise later is not used any
    # more.
    digest: str
    # server is the name in spec.mcpServers.
    server: str


class MotorStepSpecSandbox(TypedDict):
    """
    sandbox is where the tool calls run.
    """

    # deniedFamilies are those that the sandbox has addresses of, and programs no sockets: the kernel refuses them.
    deniedFamilies: NotRequired[list[Literal["IPv4", "IPv6"]]]
    # families are the families of addresses that were tried, and of which programs get sockets.
    families: NotRequired[list[Literal["IPv4", "IPv6"]]]
    # isolationMilliseconds is how long it took, from the first try, until they were all blocked.
    isolationMilliseconds: NotRequired[int]
    # isolationTries is how many times in a row every forbidden address was seen to be blocked.
    isolationTries: NotRequired[int]
    # mcp are the MCP servers whose tools the model was told of.
    mcp: NotRequired[list["MCPPin"]]
    # open names the forbidden addresses that it could reach, where the manager was told to go on all the same.
    open: NotRequired[list[str]]
    # podUID of the sandbox Pod.
    podUID: str
    # proofTime is when its isolation was proved last.
    proofTime: NotRequired[str]
    # serverKey is "sha256:…" of the tool server's public key, pinned at the first handshake.
    serverKey: NotRequired[str]
    # unconfined are the walls within the sandbox that its node does not have.
    unconfined: NotRequired[list[Literal["Landlock", "ProcessLimit"]]]


class ToolCall(TypedDict):
    """
    ToolCall is one tool call that the model decided on.
    """

    # arguments as the model wrote them: JSON, if the model kept to its format.
    arguments: NotRequired[str]
    # id is the call's identity: the sandbox runs an id at most once.
    id: str
    # modelID is the id that the model gave to the call.
    modelID: NotRequired[str]
    # tool is the name of the tool.
    tool: str


class MotorStepSpecUsage(TypedDict):
    """
    usage is what the model call cost.
    """

    # cachedTokens is the part of promptTokens that the endpoint served from its cache.
    cachedTokens: NotRequired[int]
    completionTokens: NotRequired[int]
    # cost of the tokens by the prices of the time of the call, unset where the model has no price.
    cost: NotRequired[str]
    # currency of the cost.
    currency: NotRequired[str]
    # estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of
    # the request and of the answer.
    estimated: NotRequired[bool]
    promptTokens: NotRequired[int]
    # totalTokens is promptTokens and completionTokens together.
    totalTokens: NotRequired[int]
    # unpriced says that a part of the tokens is not in the cost, because their model had no price.
    unpriced: NotRequired[bool]


class MotorStepSpec(TypedDict):
    """
    MotorStepSpec is what was decided. It is written before any of it is done, and never changes.
    """

    # attempt is the number of the attempt that the step is of. The first one is 1.
    attempt: int
    # checks says that the calls are the commands of spec.accept, and not the model's: the step before has the call of finish that they
    # decide about.
    checks: NotRequired[bool]
    # content is what the model said beside its tool calls: the text of a Summary, the partial result of an Outcome.
    content: NotRequired[str]
    # epoch of the claim on the run under which the step was written.
    epoch: int
    # failedUsage is what tries of the same request cost that came to nothing, as far as the endpoint tells.
    failedUsage: NotRequired["MotorStepSpecFailedUsage"]
    # final says that content is the result of the run: a call of finish was accepted in the step before, or the model ends its runs with
    # text.
    final: NotRequired[bool]
    # index counts the steps of the attempt from 1. An Outage has the index of the step that waits for the model.
    index: int
    # model is the name of the model as its endpoint reported it.
    model: NotRequired[str]
    # modelMilliseconds is the time from the first try of the model call to its answer, in milliseconds.
    modelMilliseconds: NotRequired[int]
    # outage says why the model could not be had when that was first found. status.outage has what changed since.
    outage: NotRequired["MotorStepSpecOutage"]
    # outcome says how the attempt ended.
    outcome: NotRequired["MotorStepSpecOutcome"]
    # promptDigest is the SHA-256 of the system prompt.
    promptDigest: NotRequired[str]
    # requestDigest is the SHA-256 of the whole request to the model.
    requestDigest: NotRequired[str]
    # sandbox is where the tool calls run.
    sandbox: NotRequired["MotorStepSpecSandbox"]
    # through is the index of the last step that a Summary stands for.
    through: NotRequired[int]
    # toolCalls are carried out one after the other.
    toolCalls: NotRequired[list["ToolCall"]]
    # tools names the tools called, for printing.
    tools: NotRequired[str]
    # type is Turn for an answer of the model, Summary for a summary of older turns, Outcome for the end of an attempt, Outage for a model
    # that could not be had.
    type: Literal["Turn", "Summary", "Outcome", "Outage"]
    # usage is what the model call cost.
    usage: NotRequired["MotorStepSpecUsage"]
    # value is the result as JSON that a final step has where spec.accept.valueSchema asks for it.
    value: NotRequired[str]
    # worker is the replica of the manager that wrote the step.
    worker: NotRequired[str]


class MotorStepStatusArtifacts(TypedDict):
    """
    artifacts are what the workspace held for the result when the run last waited for a person in this step, or when the attempt ended with
    it.
    """

    # files in the order of their paths: 32 of the workspace, and workspace.diff.
    files: NotRequired[list["Artifact"]]
    # omitted is how many further files there were.
    omitted: NotRequired[int]


class AskFile(TypedDict):
    """
    AskFile is a file that a response brought. A file with another content is not put into the workspace.
    """

    # mediaType by its name and its first bytes.
    mediaType: NotRequired[str]
    # missingInAttempt is the attempt whose new workspace lacks it, because of problem. The workspaces before that had it.
    missingInAttempt: NotRequired[int]
    # path in the workspace.
    path: str
    # problem is why it could not be had, or not be put into the workspace. It is not there then, and the model is told so.
    problem: NotRequired[str]
    # provenance is Web if the content may come from the web.
    provenance: NotRequired[Literal["Web", "Internal"]]
    # sha256 of the content in hexadecimal digits.
    sha256: NotRequired[str]
    # size in bytes.
    size: NotRequired[int]


class StepAsk(TypedDict):
    """
    StepAsk is one thing that a person is asked in a step, and what became of it. It is recorded before the person is shown it, and its
    outcome before anything follows from that.
    """

    # askTime is when it was recorded.
    askTime: str
    # by is who responded, as the response says.
    by: NotRequired[str]
    # callID is the id of the tool call that it is about.
    callID: str
    # closeTime is when the response was put to use, or the time was found to be over.
    closeTime: NotRequired[str]
    # decision that the response has, if it has one.
    decision: NotRequired[Literal["AllowOnce", "AllowRun", "ApproveOnce", "ApproveRun", "Deny", "Retry", "Skip", "Done", "Stop", "Raise"]]
    # digest is "sha256:…" of tool and arguments, of kind Approval. A decision that names another one does not count.
    digest: NotRequired[str]
    # domain that is asked for, of kind DomainRequest.
    domain: NotRequired[str]
    # execution of the call that it is about, of kind Approval and OutcomeUnknown; see UnknownExecution.
    execution: NotRequired[str]
    # expirationTime is until when there is time for a response. Times in which no manager led are added to it.
    expirationTime: NotRequired[str]
    # files that the response brought, of kind Question. They are recorded before they are put into the workspace.
    files: NotRequired[list["AskFile"]]
    # id under which spec.responses of the run answers it.
    id: str
    # kind of the ask. Retry is none: it is about an attempt, and not about a step.
    kind: Literal["Question", "OutcomeUnknown", "Retry", "DomainRequest", "Approval", "BudgetExhausted"]
    # onTimeout is what becomes of it then.
    onTimeout: NotRequired[Literal["Fail", "Deny", "UseDefault"]]
    # outcome, unset while it is open.
    outcome: NotRequired[Literal["Answered", "Approved", "Denied", "Expired"]]
    # reason of the decision, as the response says.
    reason: NotRequired[str]
    # rule by which the call needs approval, of kind Approval: the one that ApproveRun approves, unset where only this call can be approved.
    rule: NotRequired[str]


class StepProgram(TypedDict):
    """
    StepProgram is a program that a tool call left in the background.
    """

    # callID is the id of the tool call. Its arguments have the command.
    callID: str
    # completionTime is when it ended, unset while it runs and of one that is Lost.
    completionTime: NotRequired[str]
    # execution that left it; see UnknownExecution.
    execution: str
    # exitCode is that of one that Failed: 128 and the number of the signal of one that a signal ended.
    exitCode: NotRequired[int]
    # foundIn is the index of the step in whose time its end was seen. The model is told of the end of one that is Stopped or Lost with what
    # the calls of that step gave.
    foundIn: NotRequired[int]
    # reason is why one that is Stopped was ended: IsolationLost, Suspended, AwaitingInput, WayOutGranted, AttemptFinished.
    reason: NotRequired[str]
    # startTime is when it was left, by the clock of its sandbox.
    startTime: str
    # state is Running until its end is seen.
    state: Literal["Running", "Succeeded", "Failed", "Stopped", "Lost"]


class MotorStepStatusClosed(TypedDict):
    """
    closed is set in the last step of an attempt that has ended, when what the workspace held then was collected.
    """

    # closeTime is when the last look at the workspace was over.
    closeTime: str
    # problem says why not everything could be collected, unset if all was.
    problem: NotRequired[str]


class MotorStepStatusFailedUsage(TypedDict):
    """
    failedUsage is what tries that came to nothing cost in an Outage, as far as the endpoint tells.
    """

    # cachedTokens is the part of promptTokens that the endpoint served from its cache.
    cachedTokens: NotRequired[int]
    completionTokens: NotRequired[int]
    # cost of the tokens by the prices of the time of the call, unset where the model has no price.
    cost: NotRequired[str]
    # currency of the cost.
    currency: NotRequired[str]
    # estimated says that the endpoint did not tell all of these numbers. What it did not tell counts as one token for each four bytes of
    # the request and of the answer.
    estimated: NotRequired[bool]
    promptTokens: NotRequired[int]
    # totalTokens is promptTokens and completionTokens together.
    totalTokens: NotRequired[int]
    # unpriced says that a part of the tokens is not in the cost, because their model had no price.
    unpriced: NotRequired[bool]


class MotorStepStatusLeft(TypedDict):
    """
    left is what the run had left when all calls had results, as the model was told.
    """

    # seconds of the run's time.
    seconds: NotRequired[int]
    # tokens of the run's tokens. It is not set if the run has no limit of them.
    tokens: NotRequired[int]


class MotorStepStatusOutageAskRaiseBy(TypedDict):
    """
    raiseBy is the amount that is proposed.
    """

    # cost in the currency of the MotorCortex, such as "0.50".
    cost: NotRequired[str]
    # tokens of requests and answers together.
    tokens: NotRequired[int]


class MotorStepStatusOutageAsk(TypedDict):
    """
    ask is set if the model is not asked because of a bound that a person can raise.
    """

    # id to answer to.
    id: str
    # raiseBy is the amount that is proposed.
    raiseBy: "MotorStepStatusOutageAskRaiseBy"


class MotorStepStatusOutage(TypedDict):
    """
    outage is why the model cannot be had by now, if that is not what spec.outage says any more.
    """

    # ask is set if the model is not asked because of a bound that a person can raise.
    ask: NotRequired["MotorStepStatusOutageAsk"]
    # deadlineSeconds is how long it is waited for, from the creation of the step.
    deadlineSeconds: int
    # message says what happened, where, and what to do.
    message: NotRequired[str]
    # mustAct is true if the model is not expected back before a person changes something.
    mustAct: NotRequired[bool]
    # reason is a reason of the condition ModelAvailable.
    reason: str


class ToolResult(TypedDict):
    """
    ToolResult is the envelope of what a tool call gave.
    """

    # callID is the id of the tool call.
    callID: str
    # durationMilliseconds is how long the call took, in milliseconds.
    durationMilliseconds: NotRequired[int]
    # errorCode is a word for programs.
    errorCode: NotRequired[str]
    # keptFile is the file in the workspace that has the output too, if output is whole and the model may be shown less of it later.
    keptFile: NotRequired[str]
    # noteBytes is how many bytes at the end of output are the tool server's own words about the call, and not what a program, a page or a
    # file gave. They are not marked as coming from the web.
    noteBytes: NotRequired[int]
    # ok is false if the tool failed.
    ok: bool
    # output is what the model is shown, at most 32 KiB; the rest is in outputFile.
    output: NotRequired[str]
    # outputFile is the file in the workspace that has the whole output, if output is cut.
    outputFile: NotRequired[str]
    # provenance is where the output comes from: an output that is Web is not trusted.
    provenance: Literal["User", "Web", "Internal"]
    # retryable says that the same call may succeed when it is made again.
    retryable: NotRequired[bool]
    # waitedMilliseconds is how long a person took to approve the call, or to decide about its unknown outcome, in milliseconds.
    waitedMilliseconds: NotRequired[int]


class MotorStepStatusSkills(TypedDict):
    """
    skills are what became of the skills in the workspace when the attempt ended with this step.
    """

    # created are new Skills.
    created: NotRequired[list["ProposedSkill"]]
    # rejected are folders that were not taken.
    rejected: NotRequired[list["RejectedSkill"]]
    # updated are Skills that have a new revision to be reviewed.
    updated: NotRequired[list["ProposedSkill"]]


class UnknownExecution(TypedDict):
    """
    UnknownExecution is an execution of a tool call of which the sandbox knows the beginning and not the end.
    """

    # callID is the id of the tool call.
    callID: str
    # detectionTime is when this was found.
    detectionTime: str
    # execution is the id under which the sandbox ran it: that of the call the first time, with -r1, -r2 … after it when it was made
    # again.
    execution: str
    # policy is who deals with it. A call that only reads needs no person.
    policy: Literal["Redo", "Person", "Model"]


class MotorStepStatus(TypedDict):
    """
    The default makes a step InFlight from its creation on: a status is written when there are results.
    """

    # artifacts are what the workspace held for the result when the run last waited for a person in this step, or when the attempt ended
    # with it.
    artifacts: NotRequired["MotorStepStatusArtifacts"]
    # asks are what people were asked about its calls. Entries are only added, and get their outcome once.
    asks: NotRequired[list["StepAsk"]]
    # background has an entry for each program that its calls left in the background. It gets its end once.
    background: NotRequired[list["StepProgram"]]
    # closed is set in the last step of an attempt that has ended, when what the workspace held then was collected.
    closed: NotRequired["MotorStepStatusClosed"]
    # failedUsage is what tries that came to nothing cost in an Outage, as far as the endpoint tells.
    failedUsage: NotRequired["MotorStepStatusFailedUsage"]
    # left is what the run had left when all calls had results, as the model was told.
    left: NotRequired["MotorStepStatusLeft"]
    # ok is "succeeded/called", for printing.
    ok: NotRequired[str]
    # outage is why the model cannot be had by now, if that is not what spec.outage says any more.
    outage: NotRequired["MotorStepStatusOutage"]
    # phase is InFlight from the creation of the step until every tool call has a result.
    phase: NotRequired[Literal["InFlight", "Settled", "OutcomeUnknown", "Closed"]]
    # results has an entry for each tool call that has ended.
    results: NotRequired[list["ToolResult"]]
    # skills are what became of the skills in the workspace when the attempt ended with this step.
    skills: NotRequired["MotorStepStatusSkills"]
    # toolMilliseconds is the time that the tool calls took together, waiting for people not counted, in milliseconds.
    toolMilliseconds: NotRequired[int]
    # unknown has an entry for each time that a call was started and its end was not seen. Entries are only added.
    unknown: NotRequired[list["UnknownExecution"]]


class MotorStep(TypedDict):
    """
    MotorStep is one entry in the journal of a MotorRun. Only the operator writes it.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # MotorStepSpec is what was decided. It is written before any of it is done, and never changes.
    spec: "MotorStepSpec"
    # The default makes a step InFlight from its creation on: a status is written when there are results.
    status: NotRequired["MotorStepStatus"]


class SandboxPoolSpecResources(TypedDict):
    """
    resources are the limits of each sandbox, as in spec.sandbox.resources of a MotorRun.
    """

    # cpu is the most processor time: default 1.
    cpu: NotRequired[int | str]
    # memory is the most memory, the files in the sandbox's /tmp not counted: default 1Gi.
    memory: NotRequired[int | str]
    # workspace is the most that the files in the workspace may have: default 1Gi.
    workspace: NotRequired[int | str]


class SandboxPoolSpec(TypedDict):
    """
    SandboxPoolSpec is how many sandboxes a pool keeps, and of which shape. A run gets one of them if its own sandbox would have the same
    shape, and the MotorCortex of the namespace names the pool.
    """

    # maxAgeSeconds is how old a sandbox may become that no run takes. Then another one replaces it.
    maxAgeSeconds: NotRequired[int]
    # replicas is how many sandboxes wait for a run. One that a run takes is replaced. Zero keeps none.
    replicas: NotRequired[int]
    # resources are the limits of each sandbox, as in spec.sandbox.resources of a MotorRun.
    resources: NotRequired["SandboxPoolSpecResources"]
    # runtimeClassName is the RuntimeClass of each Pod, as in spec.sandbox.runtimeClassName of a MotorRun.
    runtimeClassName: NotRequired[str]


class SandboxPoolStatusConditions(TypedDict):
    """
    Condition contains details for one aspect of the current state of this API Resource.
    """

    # lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying
    # condition changed. If that is not known, then using the time when the API field changed is acceptable.
    lastTransitionTime: str
    # message is a human readable message indicating details about the transition. This may be an empty string.
    message: str
    # observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
    # currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
    # the instance.
    observedGeneration: NotRequired[int]
    # reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
    # types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
    # be a CamelCase string. This field may not be empty.
    reason: str
    # status of the condition, one of True, False, Unknown.
    status: Literal["True", "False", "Unknown"]
    # type of condition in CamelCase or in foo.example.com/CamelCase.
    type: str


class SandboxPoolStatus(TypedDict):
    """
    SandboxPoolStatus is what a pool has.
    """

    # conditions of the pool: Ready.
    conditions: NotRequired[list["SandboxPoolStatusConditions"]]
    # observedGeneration is the generation of the spec that the status is about.
    observedGeneration: NotRequired[int]
    # readyReplicas is how many of them a run can take now: their isolation is proved.
    readyReplicas: NotRequired[int]
    # replicas is how many sandboxes the pool has, ready or not. Those that runs have taken do not count.
    replicas: NotRequired[int]
    # selector selects the Pods of the pool, for the scale subresource.
    selector: NotRequired[str]


class SandboxPool(TypedDict):
    """
    SandboxPool keeps sandboxes that wait for a run: started, empty, closed, and proved to be closed. Each serves one run and is destroyed
    after it.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # SandboxPoolSpec is how many sandboxes a pool keeps, and of which shape. A run gets one of them if its own sandbox would have the same
    # shape, and the MotorCortex of the namespace names the pool.
    spec: "SandboxPoolSpec"
    # SandboxPoolStatus is what a pool has.
    status: NotRequired["SandboxPoolStatus"]


class WebSource(TypedDict):
    """
    WebSource is something that a run fetched from the web.
    """

    # fetchTime is when the step was recorded that fetched it.
    fetchTime: NotRequired[str]
    # url without what gives access: no query, and no user.
    url: str


class SkillRevisionSpecExtractedFrom(TypedDict):
    """
    extractedFrom is the run that wrote the files, unset if they came from the skill's source.
    """

    # changedFiles are those that the run changed or added, deletedFiles those that it deleted.
    changedFiles: NotRequired[list[str]]
    # credentials that the run saved, by name.
    credentials: NotRequired[list[str]]
    deletedFiles: NotRequired[list[str]]
    # revisionName that the run began with, "" if there was none.
    revisionName: NotRequired[str]
    # runName by name.
    runName: str
    # runUID tells it from a later one of its name.
    runUID: NotRequired[str]
    # sources are what the run fetched from the web before it wrote the files, the first 16.
    sources: NotRequired[list["WebSource"]]


class RevisionFile(TypedDict):
    """
    RevisionFile is one file of a revision.
    """

    # executable says that the file is a program.
    executable: NotRequired[bool]
    # path in the skill's folder.
    path: str
    # sha256 of the content in hexadecimal digits.
    sha256: str
    # size in bytes.
    size: NotRequired[int]


class SkillRevisionSpec(TypedDict):
    """
    SkillRevisionSpec is what a skill's files were at one time.
    """

    # configMapNames hold the bytes of the files, one after the other in their order, cut into parts.
    configMapNames: NotRequired[list[str]]
    # contentHash is "sha256:…" of the list of the files: a line "MODE SHA256 PATH" for each, sorted by path, where MODE is 644 or 755.
    contentHash: str
    # description of SKILL.md.
    description: NotRequired[str]
    # extractedFrom is the run that wrote the files, unset if they came from the skill's source.
    extractedFrom: NotRequired["SkillRevisionSpecExtractedFrom"]
    # files in the order of their paths.
    files: list["RevisionFile"]
    # origin is what the files were read from: the digest behind a tag, a Git commit.
    origin: NotRequired[str]
    # skillName that it is a revision of.
    skillName: str


class SkillRevisionStatusAdvice(TypedDict):
    """
    advice is what a model said about the files in the first run with skillReview that looked at them. It decides nothing, and stays.
    """

    # adviceTime is when the run ended.
    adviceTime: NotRequired[str]
    # requestedBy is who made the run, "" if the cluster does not stamp that.
    requestedBy: NotRequired[str]
    # runName that asked it.
    runName: str
    # text of the model. It may have been told by the files what to say.
    text: NotRequired[str]


class Mention(TypedDict):
    """
    Mention is a name that a file mentions.
    """

    # name that is mentioned: a host, or an environment variable.
    name: str
    # paths of the files that mention it, the first of them.
    paths: NotRequired[list[str]]


class Finding(TypedDict):
    """
    Finding is something in a file that a person should look at.
    """

    # kind of it.
    kind: Literal["Secret", "HiddenUnicode", "Base64", "Binary", "Script", "UnknownKey", "OddValue", "OddFile"]
    # line of the file, counted from 1, 0 for all of it.
    line: NotRequired[int]
    # message says what it is. It never has a secret.
    message: NotRequired[str]
    # path of the file.
    path: str


class SkillRevisionStatusLatestAdvice(TypedDict):
    """
    latestAdvice is what a model said in the newest such run, unset if there was only one.
    """

    # adviceTime is when the run ended.
    adviceTime: NotRequired[str]
    # requestedBy is who made the run, "" if the cluster does not stamp that.
    requestedBy: NotRequired[str]
    # runName that asked it.
    runName: str
    # text of the model. It may have been told by the files what to say.
    text: NotRequired[str]


class SkillRevisionStatus(TypedDict):
    """
    SkillRevisionStatus is what there is to know of the files. It is gathered by the operator, by patterns.
    """

    # advice is what a model said about the files in the first run with skillReview that looked at them. It decides nothing, and stays.
    advice: NotRequired["SkillRevisionStatusAdvice"]
    # domains that files mention.
    domains: NotRequired[list["Mention"]]
    # findings are things that a person should look at.
    findings: NotRequired[list["Finding"]]
    # latestAdvice is what a model said in the newest such run, unset if there was only one.
    latestAdvice: NotRequired["SkillRevisionStatusLatestAdvice"]
    # omitted is how many further mentions and findings there are.
    omitted: NotRequired[int]
    # packages that files say to install with pip, npm or apt, as in pip:requests.
    packages: NotRequired[list["Mention"]]
    # reviewStarts is how often the operator began to gather that, and its process ended before it was done. After the second time the files
    # are not looked at again: see the reason ReviewSetAside of the Skill. Deleting the SkillRevision tries anew.
    reviewStarts: NotRequired[int]
    # reviewTime is when that was gathered.
    reviewTime: NotRequired[str]
    # shell has the files, the first four of them, that are shell scripts or have blocks for a shell.
    shell: NotRequired[list[str]]
    # tools of the operator that SKILL.md names in allowed-tools, in its own words, and bash if shell names a file. They grant nothing: they
    # are what to put into the policy.
    tools: NotRequired[list[str]]
    # variables of the environment that files mention, but for well-known ones.
    variables: NotRequired[list["Mention"]]


class SkillRevision(TypedDict):
    """
    SkillRevision is a snapshot of a skill's files. The operator makes it, and it never changes.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # SkillRevisionSpec is what a skill's files were at one time.
    spec: "SkillRevisionSpec"
    # SkillRevisionStatus is what there is to know of the files. It is gathered by the operator, by patterns.
    status: NotRequired["SkillRevisionStatus"]


class SkillSpecApproval(TypedDict):
    """
    approval lets runs use the skill: exactly that content with exactly that policy. A client that writes it needs the verb approve on the
    skill.
    """

    # account is the user who wrote the approval into the cluster. Admission fills it in, where the cluster can, and refuses any other.
    account: NotRequired[str]
    # approvedBy is who approved. A person's is their own name; a service account that carries an approval out of Git writes who approved it
    # there.
    approvedBy: NotRequired[str]
    # contentHash of the approved files: status.contentHash, or that of an earlier revision to go back to it.
    contentHash: str
    # decision is Approved, or Revoked.
    decision: NotRequired[Literal["Approved", "Revoked"]]
    # expirationTime is when the approval ends; unset, it does not.
    expirationTime: NotRequired[str]
    # note says why.
    note: NotRequired[str]
    # policyHash of the approved policy: status.policyHash. Who changes the policy and approves it in one patch writes the new one: sha256
    # of spec.policy as JSON with sorted keys, without spaces.
    policyHash: str


class SkillSpecPolicyAccept(TypedDict):
    """
    accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
    """

    # commands that must end with status 0. They run in the sandbox one after the other, each in a new shell in the workspace, whether or
    # not the model has the tool bash. What needs a person's approval by spec.approval needs it here too. A command may run several times.
    commands: NotRequired[list["AcceptCommand"]]
    # files that must be in the workspace: paths relative to it, or patterns as the tool glob takes them, artifacts/*.csv for example.
    files: NotRequired[list[str]]
    # valueSchema is a JSON schema, as text. The model gives its result as JSON that fits it, and result.value has that. References lead to
    # $defs of the schema itself.
    valueSchema: NotRequired[str]


class SkillSpecPolicyApprovalBash(TypedDict):
    """
    bash says which commands need approval.
    """

    # commands, such as "git push *" or "rm -rf *". A command needs approval if it has the words of one of them in their order, whatever
    # else it has; so does one that cannot be told before it runs.
    commands: list[str]


class SkillSpecPolicyApprovalFetch(TypedDict):
    """
    fetch says which requests need approval.
    """

    # methods of the requests.
    methods: list[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]]


class SkillSpecPolicyApproval(TypedDict):
    """
    approval says what needs a person, beside what the run itself says.
    """

    # bash says which commands need approval.
    bash: NotRequired["SkillSpecPolicyApprovalBash"]
    # fetch says which requests need approval.
    fetch: NotRequired["SkillSpecPolicyApprovalFetch"]
    # mcpTools whose calls all need approval, SERVER/TOOL, or SERVER/* for all of a server.
    mcpTools: NotRequired[list[str]]
    # onUnknown decides who deals with a tool call that was started and whose end was not seen: a person is asked (Person), or the model is
    # told (Model). Calls that only read are made again without asking anybody.
    onUnknown: NotRequired[Literal["Person", "Model"]]
    # required says which tool calls a person must approve before they are made. The rules below add to it.
    required: NotRequired[Literal["Never", "Irreversible", "Always"]]
    # tools whose calls all need approval.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class SkillSpecPolicyBash(TypedDict):
    """
    bash narrows the bash tool.
    """

    # allowedCommands are the only commands that may be run, "git *" or "ls": every command of every pipeline, and of what a shell is told
    # to evaluate, must match one of these. What cannot be told before it runs, such as a command whose name comes out of a variable, is
    # refused. An empty list allows none; unset, any program of the image may be run.
    allowedCommands: NotRequired[list[str]]


class SkillSpecPolicyDependencies(TypedDict):
    """
    dependencies are packages that are installed for the skill, before its runs.
    """

    # apt packages of the sandbox image's distribution, as in jq=1.7.1-3. Only their programs and files are used: nothing of theirs is run
    # when they are unpacked.
    apt: NotRequired[list[str]]
    # npm packages, as in left-pad@1.3.0 or @scope/name@2.0.1.
    npm: NotRequired[list[str]]
    # pip packages, as in requests==2.32.3 or name[extra]==1.0.
    pip: NotRequired[list[str]]


class SkillSpecPolicy(TypedDict):
    """
    policy is what runs of the skill may use. To change it takes a new approval.
    """

    # accept is what must hold before a run of the skill counts as done, beside what the run itself asks for.
    accept: NotRequired["SkillSpecPolicyAccept"]
    # approval says what needs a person, beside what the run itself says.
    approval: NotRequired["SkillSpecPolicyApproval"]
    # bash narrows the bash tool.
    bash: NotRequired["SkillSpecPolicyBash"]
    # credentials that the skill needs.
    credentials: NotRequired[list["SkillCredential"]]
    # dependencies are packages that are installed for the skill, before its runs.
    dependencies: NotRequired["SkillSpecPolicyDependencies"]
    # domains are the only hosts that the sandbox may reach.
    domains: NotRequired[list[str]]
    # inputs are what a run of the skill is given.
    inputs: NotRequired[list["SkillInput"]]
    # tools that the model may use.
    tools: NotRequired[list[Literal["bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain", "save_credential"]]]


class SkillSpecRejections(TypedDict):
    """
    SkillRejection records that a person does not want a content.
    """

    # contentHash of the files.
    contentHash: str
    # note says why.
    note: NotRequired[str]
    # rejectedBy is who rejected it. Admission fills it in, where the cluster can.
    rejectedBy: NotRequired[str]


class SkillConfigMap(TypedDict):
    """
    SkillConfigMap is a ConfigMap whose keys are files.
    """

    # name of the ConfigMap.
    name: str
    # path is the folder that the keys are files of, "" for the skill's own. In a key, two underscores stand for /, as in scripts__send.py,
    # because a key can have no /.
    path: NotRequired[str]


class SkillFile(TypedDict):
    """
    SkillFile is one file of a skill.
    """

    # content of the file.
    content: str
    # executable says that the file is a program. Files below scripts that begin with #! are, whatever this says.
    executable: NotRequired[bool]
    # path in the skill's folder, with / between folders: SKILL.md, or below references, scripts or assets.
    path: str


class SkillSpecSourceFlux(TypedDict):
    """
    flux is a source object of Flux, where that is installed.
    """

    # kind of the object.
    kind: Literal["GitRepository", "OCIRepository", "Bucket"]
    # name of the object in this namespace.
    name: str
    # path of the skill's folder in the source.
    path: NotRequired[str]


class SkillSpecSourceOci(TypedDict):
    """
    oci is an artifact in an OCI registry.
    """

    # pullSecretName is a Secret of type kubernetes.io/dockerconfigjson in this namespace.
    pullSecretName: NotRequired[str]
    # reference is REGISTRY/REPOSITORY@sha256:… or REGISTRY/REPOSITORY:TAG. What a tag stands for is looked up every 10 minutes.
    reference: str


class SkillSpecSource(TypedDict):
    """
    source is where the files come from. Unset, they come from the runs that wrote them.
    """

    # configMaps of this namespace, whose keys are the files. Two must not have the same file.
    configMaps: NotRequired[list["SkillConfigMap"]]
    # files are the files themselves.
    files: NotRequired[list["SkillFile"]]
    # flux is a source object of Flux, where that is installed.
    flux: NotRequired["SkillSpecSourceFlux"]
    # oci is an artifact in an OCI registry.
    oci: NotRequired["SkillSpecSourceOci"]


class SkillSpec(TypedDict):
    """
    SkillSpec is where a skill's files come from, what it may use, and what a person decided about it.
    """

    # approval lets runs use the skill: exactly that content with exactly that policy. A client that writes it needs the verb approve on the
    # skill.
    approval: NotRequired["SkillSpecApproval"]
    # policy is what runs of the skill may use. To change it takes a new approval.
    policy: NotRequired["SkillSpecPolicy"]
    # rejections are contents that a person looked at and does not want. A client that writes one needs the verb approve on the skill.
    rejections: NotRequired[list["SkillSpecRejections"]]
    # source is where the files come from. Unset, they come from the runs that wrote them.
    source: NotRequired["SkillSpecSource"]


class SkillStatusApproved(TypedDict):
    """
    approved is the approval as it was found in force. It is unset when the approval is revoked, has expired, or is gone.
    """

    account: NotRequired[str]
    # approvedBy and account as the approval has them.
    approvedBy: NotRequired[str]
    # contentHash of it.
    contentHash: str
    # note as the approval has it, "" if it has none. An approval with another note is another one, given in view of what the source gives
    # by then. Unset, the note is not known, and tells nothing.
    note: NotRequired[str]
    # observedTime is when the operator found the approval in force.
    observedTime: NotRequired[str]
    # policyHash that was approved with it.
    policyHash: str
    # revisionName that was approved.
    revisionName: str
    # sourceHash is the content of spec.source at that time, "" if there was none. When that changes to something else than what is
    # approved, the skill needs a new approval.
    sourceHash: NotRequired[str]


class SkillStatusConditions(TypedDict):
    """
    Condition contains details for one aspect of the current state of this API Resource.
    """

    # lastTransitionTime is the last time the condition transitioned from one status to another. This should be when the underlying
    # condition changed. If that is not known, then using the time when the API field changed is acceptable.
    lastTransitionTime: str
    # message is a human readable message indicating details about the transition. This may be an empty string.
    message: str
    # observedGeneration represents the .metadata.generation that the condition was set based upon. For instance, if .metadata.generation is
    # currently 12, but the .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the current state of
    # the instance.
    observedGeneration: NotRequired[int]
    # reason contains a programmatic identifier indicating the reason for the condition's last transition. Producers of specific condition
    # types may define expected values and meanings for this field, and whether the values are considered a guaranteed API. The value should
    # be a CamelCase string. This field may not be empty.
    reason: str
    # status of the condition, one of True, False, Unknown.
    status: Literal["True", "False", "Unknown"]
    # type of condition in CamelCase or in foo.example.com/CamelCase.
    type: str


class SkillStatusNewestDecided(TypedDict):
    """
    newestDecided is the newest revision that spec.approval ever named. What runs proposed before it was passed over, and stays so when an
    older revision is approved again or the approval goes away.
    """

    # contentHash of its files.
    contentHash: str
    # creationTime is when it was made.
    creationTime: NotRequired[str]
    # name of the SkillRevision.
    name: str
    # runName that proposed it, "" if it came from spec.source.
    runName: NotRequired[str]


class SkillStatusPackagesArchive(TypedDict):
    """
    archive is what it installed, unset as long as that is not done.
    """

    # configMapNames of this namespace that hold the parts, in their order.
    configMapNames: list[str]
    # sha256 of the whole in hexadecimal digits.
    sha256: str
    # size of the whole in bytes.
    size: NotRequired[int]


class SkillStatusPackages(TypedDict):
    """
    packages are those of spec.policy.dependencies.
    """

    # archive is what it installed, unset as long as that is not done.
    archive: NotRequired["SkillStatusPackagesArchive"]
    # hash of spec.policy.dependencies and of where they are installed from.
    hash: str
    # runName of mode Install that installs them, or did.
    runName: NotRequired[str]


class SkillStatusReview(TypedDict):
    """
    review is what the files of revision mention, against what the policy grants.
    """

    # findings is how many things of revision a person should look at: see the status of the SkillRevision.
    findings: NotRequired[int]
    # missingCredentials are environment variables that files mention and that no credential of the policy fills.
    missingCredentials: NotRequired[list[str]]
    # missingDomains are mentioned by files and not granted.
    missingDomains: NotRequired[list[str]]
    # missingPackages are those that files say to install, as in pip:requests, and that the policy does not have.
    missingPackages: NotRequired[list[str]]
    # missingTools are those that the files name, or use as bash, and that the policy does not grant.
    missingTools: NotRequired[list[str]]
    # revisionName whose files were looked at.
    revisionName: str
    # unusedCredentials are granted and mentioned by no file.
    unusedCredentials: NotRequired[list[str]]
    # unusedDomains are granted and mentioned by no file.
    unusedDomains: NotRequired[list[str]]


class RevisionSummary(TypedDict):
    """
    RevisionSummary is a revision in the list of them.
    """

    # contentHash of its files.
    contentHash: str
    # creationTime is when it was made.
    creationTime: NotRequired[str]
    # name of the SkillRevision.
    name: str
    # runName that proposed it, "" if it came from spec.source.
    runName: NotRequired[str]


class SkillStatusSource(TypedDict):
    """
    source says what spec.source gave when it was last read.
    """

    # contentHash of the files.
    contentHash: NotRequired[str]
    # origin is what the files were read from: the digest behind a tag, or a Git commit.
    origin: NotRequired[str]
    # readTime is when a tag or a source object of Flux was last looked up.
    readTime: NotRequired[str]


class SkillStatusUsage(TypedDict):
    """
    usage counts the runs of the skill. It is written rarely.
    """

    # lastUsedTime is when the last of them ended.
    lastUsedTime: NotRequired[str]
    # runs that ended and used the skill as it was approved.
    runs: NotRequired[int]
    # succeeded is how many of them succeeded.
    succeeded: NotRequired[int]
    # successRate is succeeded of runs, as in 87%, for printing.
    successRate: NotRequired[str]


class SkillStatus(TypedDict):
    """
    SkillStatus is what the operator knows of a skill.
    """

    # approved is the approval as it was found in force. It is unset when the approval is revoked, has expired, or is gone.
    approved: NotRequired["SkillStatusApproved"]
    # conditions are what programs read.
    conditions: NotRequired[list["SkillStatusConditions"]]
    # contentHash of revision.
    contentHash: NotRequired[str]
    # description as the SKILL.md of revision has it.
    description: NotRequired[str]
    # message says in one sentence how the skill stands.
    message: NotRequired[str]
    # newestDecided is the newest revision that spec.approval ever named. What runs proposed before it was passed over, and stays so when an
    # older revision is approved again or the approval goes away.
    newestDecided: NotRequired["SkillStatusNewestDecided"]
    # observedGeneration is the generation of the spec that this status speaks of.
    observedGeneration: NotRequired[int]
    # packages are those of spec.policy.dependencies.
    packages: NotRequired["SkillStatusPackages"]
    # policyHash of spec.policy.
    policyHash: NotRequired[str]
    # review is what the files of revision mention, against what the policy grants.
    review: NotRequired["SkillStatusReview"]
    # revisionName is the newest SkillRevision: what an approval is asked for, unless it has it.
    revisionName: NotRequired[str]
    # revisions are those that can be approved, the newest first.
    revisions: NotRequired[list["RevisionSummary"]]
    # source says what spec.source gave when it was last read.
    source: NotRequired["SkillStatusSource"]
    # state is a word for people.
    state: NotRequired[Literal["PendingReview", "AwaitingApproval", "Approved", "NeedsReapproval", "Rejected", "Revoked"]]
    # stateTime is when the skill began to have this state with this revisionName.
    stateTime: NotRequired[str]
    # usage counts the runs of the skill. It is written rarely.
    usage: NotRequired["SkillStatusUsage"]


class Skill(TypedDict):
    """
    Skill is a capability: files after the Agent Skills standard, what they may use, and who approved it.
    """

    apiVersion: str
    kind: str
    metadata: "ObjectMeta"
    # SkillSpec is where a skill's files come from, what it may use, and what a person decided about it.
    spec: "SkillSpec"
    # SkillStatus is what the operator knows of a skill.
    status: NotRequired["SkillStatus"]
