// SPDX-License-Identifier: Apache-2.0

// The token is this window's own: it is in no cookie, which other servers of this host would be sent too.
const tokenKey = 'token';

export class Problem extends Error {
  constructor(status, text, login) {
    super(text);
    this.status = status;
    // login is the path to a login, if the server has one and wants it.
    this.login = login;
  }
}

const headers = () => {
  const token = sessionStorage.getItem(tokenKey);
  return token ? {Authorization: `Bearer ${token}`} : {};
};

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, {...options, headers: {...headers(), ...options.headers}, cache: 'no-store', credentials: 'same-origin', redirect: 'error'});
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw new Problem(0, 'The server of this page does not answer. If it is kubectl motor ui: does it still run?');
  }
  if (answer.ok) return answer;
  const body = await answer.json().catch(() => ({}));
  if (answer.status === 401 && body.login) dispatchEvent(new CustomEvent('login', {detail: body.login}));
  throw new Problem(answer.status, body.error ?? `The server of this page answered ${answer.status}.`, body.login);
}

// get reads from the API of the page. Words of a query that are undefined are left out.
export async function get(path, query = {}) {
  const words = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined));
  return (await ask(`/api/${path}?${words}`)).json();
}

// post sends what a person decided.
export async function post(path, body) {
  return (await ask(`/api/${path}`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)})).json();
}

// logout ends the login of the person.
export const logout = async (path) => (await ask(path, {method: 'POST'})).json();

// stream opens the stream of changes.
export const stream = (namespace, signal) => ask(`/api/events?${new URLSearchParams({namespace})}`, {signal});

// openWindow exchanges the code of the link for a token, and takes it out of the address.
export async function openWindow() {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (!code) return;
  history.replaceState(null, '', '/#/inbox');
  try {
    const {token} = await post('session', {code});
    sessionStorage.setItem(tokenKey, token);
  } catch (problem) {
    // A person who goes back to the link that opened this window has a window.
    if (!sessionStorage.getItem(tokenKey)) throw problem;
  }
}

// path joins the parts of a path.
export const path = (...parts) => parts.map(encodeURIComponent).join('/');
