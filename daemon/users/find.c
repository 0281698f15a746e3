/* Finds users and projects by id and by name, and members of projects. Each user is in one list by name and in two
 * tables, by id and by name, from sl__user_insert() until its end. A deleted user has no name there: the next user of
 * that name is another person.
 *
 * A user's name may be any in UTF-8. It is kept as it came, in Unicode's form NFC, and compared without regard to
 * case. */
#include <locale.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include <gnutls/gnutls.h>

#include "core/meant.h"
#include "daemon/users/users_internal.h"

#define FORBIDDEN "/\\,\"<>|"   /* in paths, lists, tables */

/* NFC by the profile of RFC 8265, which also refuses what is no UTF-8, and control characters. */
static bool normalize(const char *name, char out[SL_USER_NAME_BYTES])
{
	gnutls_datum_t to = {NULL, 0};
	bool fine = name[0] && !gnutls_utf8_password_normalize((const unsigned char *)name, strlen(name), &to, 0) &&
		    to.size < SL_USER_NAME_BYTES;
	if (fine)
		snprintf(out, SL_USER_NAME_BYTES, "%.*s", (int)to.size, to.data);
	gnutls_free(to.data);
	return fine;
}

int sl__name_read(const char *name, char out[SL_USER_NAME_BYTES], struct sl_error *err)
{
	bool fine = name && normalize(name, out) && !strpbrk(out, FORBIDDEN) && strcmp(out, ".") && strcmp(out, "..");
	if (fine && out[0] != ' ' && out[strlen(out) - 1] != ' ' && !strstr(out, "  "))
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/name", "name must have 1 to %d bytes of UTF-8: letters of any script, "
			      "digits and signs other than " FORBIDDEN ", with single spaces between words; and not be . or .., "
			      "which no path can name", SL_USER_NAME_BYTES - 1);
}

/* Unicode's letters in glibc's own locale; if that is missing, those of ASCII. */
static locale_t locale_of_unicode(void)
{
	static locale_t made;
	if (!made)
		made = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return made;
}

void sl__name_fold(const char *name, char out[SL_USER_NAME_BYTES])
{
	locale_t unicode = locale_of_unicode(), before;
	wchar_t wide[SL_USER_NAME_BYTES];
	char normal[SL_USER_NAME_BYTES];
	const char *from = normal;
	const wchar_t *back = wide;
	size_t count = (size_t)-1;
	bool fine = normalize(name, normal);
	snprintf(out, SL_USER_NAME_BYTES, "%s", fine ? normal : "");
	if (fine && unicode) {
		before = uselocale(unicode);
		count = mbsrtowcs(wide, &from, SL_USER_NAME_BYTES, &(mbstate_t){0});
		for (size_t i = 0; count != (size_t)-1 && i < count; i++)
			wide[i] = (wchar_t)towlower((wint_t)wide[i]);
		if (count == (size_t)-1 || count == SL_USER_NAME_BYTES ||
		    wcsrtombs(out, &back, SL_USER_NAME_BYTES, &(mbstate_t){0}) == (size_t)-1 || back)
			count = (size_t)-1;
		uselocale(before);
	}
	for (char *c = out; count == (size_t)-1 && *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
}

/* ---- users and projects ---- */

const char *const sl__role_names[] = {"none", "reader", "user", "administrator", "link", NULL};
const char *const sl__user_states[] = {"active", "disabled", "deleted"};

/* Requests look for their users, so that is fast also if there are thousands. */
static struct sl_list *bucket(const struct sl_list *buckets, const char *text)
{
	return (struct sl_list *)&buckets[sl_list_hash(text, strlen(text)) % SL__USER_BUCKETS];
}

struct sl__user *sl__user_by_id(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__user, user, bucket(u->user_ids, id), by_id, !strcmp(user->id, id));
}

static bool is_called(const struct sl__user *user, const char *folded)
{
	char own[SL_USER_NAME_BYTES];
	sl__name_fold(user->name, own);
	return !strcmp(own, folded);
}

struct sl__user *sl__user_by_name(const struct sl_users *u, const char *name)
{
	char folded[SL_USER_NAME_BYTES];
	sl__name_fold(name, folded);
	return SL_LIST_FIND(struct sl__user, user, bucket(u->user_names, folded), by_name,
			    folded[0] && is_called(user, folded));
}

struct sl__user *sl__user_of(const struct sl_users *u, const char *text)
{
	struct sl__user *user = sl__user_by_name(u, text);
	return user || !sl_ulid_valid(text) ? user : sl__user_by_id(u, text);
}

size_t sl_users_number(const struct sl_users *u)
{
	return u->all.count;
}

size_t sl_projects_number(const struct sl_users *u)
{
	return u->projects.count;
}

const char *sl__user_id(const struct sl_users *u, const char *name)
{
	const struct sl__user *user = sl__user_by_name(u, name);
	return user ? user->id : NULL;
}

void sl__user_insert(struct sl_users *u, struct sl__user *user)
{
	struct sl__user *after = SL_LIST_FIRST(struct sl__user, &u->all, link);
	while (after && strcmp(after->name, user->name) < 0)
		after = SL_LIST_NEXT(struct sl__user, after, link);
	sl_list_insert(&u->all, after ? &after->link : NULL, &user->link);
	sl_list_append(bucket(u->user_ids, user->id), &user->by_id);
	char folded[SL_USER_NAME_BYTES];
	sl__name_fold(user->name, folded);
	if (user->state != SL_USER_DELETED)
		sl_list_append(bucket(u->user_names, folded), &user->by_name);
	u->any_gone = u->any_gone || user->state;
}

void sl__user_take_out(struct sl__user *user)
{
	sl_list_unlink(&user->link);
	sl_list_unlink(&user->by_id);
	sl_list_unlink(&user->by_name);
}

enum sl_role sl__role_of(const char *text)
{
	int role = sl_word_index(sl__role_names, SL_ROLE_ADMINISTRATOR + 1, text);
	return role > SL_ROLE_NONE ? (enum sl_role)role : SL_ROLE_NONE;
}

struct sl__project *sl__project_by_id(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__project, p, &u->projects, link, !strcmp(p->id, id));
}

struct sl__project *sl__project_by_name(const struct sl_users *u, const char *name)
{
	return SL_LIST_FIND(struct sl__project, p, &u->projects, link, !strcmp(p->name, name));
}

bool sl__is_member(const struct sl_users *u, const char *project, const char *user)
{
	const struct sl__project *p = sl__project_by_id(u, project);
	return p && user[0] && sl__ids_find(&p->members, user) >= 0;
}

int sl__name_check(const char *name, struct sl_error *err)
{
	size_t length = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") : 0;
	if (!length || name[length] || length >= sizeof ((struct sl__project *)0)->name || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return sl_error_field(err, SL_BADPARAM, "/name", "name must be 1 to 63 letters, digits and the signs - _ . @, "
				      "but not . or .., which no path can name");
	return 0;
}

int sl__user_not_found(const char *name, struct sl_error *err)
{
	return sl_error_set(err, SL_NOTFOUND, "there is no user %.64s", name);
}

enum sl_user_state sl_users_state(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = id[0] ? sl__user_by_id(u, id) : NULL;
	return user ? user->state : id[0] ? SL_USER_DELETED : SL_USER_ACTIVE;
}

void sl_users_expect(struct sl_users *u, const char *id)
{
	u->any_gone = u->any_gone || sl_users_state(u, id);
}

const char *sl_users_id(const struct sl_users *u, const char *text)
{
	const struct sl__user *user = sl__user_of(u, text);
	return user ? user->id : NULL;
}

const char *sl_users_name(const struct sl_users *u, const char *id)
{
	const struct sl__user *user = sl__user_by_id(u, id);
	return user ? user->name : NULL;
}
