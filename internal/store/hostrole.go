package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"fika"
	"fika/internal/text/hint"
)

// HostRole is a role of the server with which one host, and nobody else, uses the database.
type HostRole struct {
	Name     string
	Password string   // empty: the role can log in already, and keeps the one it has
	Admin    []string // what an administrator of the server has to run first; nothing was changed if there is any
}

// fixed lists, of the tables whose authors cannot be forged, the columns that no host may
// change once a row is there. by_host is not even set.
func fixed() map[string][]string {
	cols := strings.Fields
	return map[string][]string{
		"entries":    cols("n conversation seq id at sender content type request reply_to chain depth by_host"),
		"requests":   cols("n id kind origin parent retry_of chain depth payload body_hash created_at by_host"),
		"steps":      cols("request n round kind call_id tool args_hash effect call_entry blob by_host"),
		"approvals":  cols("n request step tool args workspace what rule bound asked_at expires_at flow_step held by_host"),
		"hosts":      cols("id by_host"),
		"agent_defs": cols("agent"),
	}
}

// AddHostRole makes a role for the host of a name, or brings what it may do up to date; one
// that was locked out can log in again, with another password. If there is a host of that
// name, it belongs to the role from then on. The options are those of a role that owns the
// tables. Error kinds: Denied if it does not, Invalid for a name that cannot be a role's,
// Locked if the tables need a migration first, Storage.
func AddHostRole(ctx context.Context, o Options, host, role string) (HostRole, error) {
	const op = "add host"
	out := HostRole{Name: role}
	if !isSchema(role) {
		return out, fika.Errorf(fika.Invalid, op, "%q cannot be the name of a role: use a-z, digits and _", role)
	}
	s := &db{database: &database{opt: o, d: &pgDialect{}}}
	c, schema, err := s.connect(ctx)
	if err != nil {
		return out, err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it was for has been answered
	tx, err := c.Begin(ctx)
	if err != nil {
		return out, s.explain(op, err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	version, err := versionOf(ctx, tx)
	if err != nil {
		return out, s.explain(op, err)
	}
	if version != schemaVersion {
		return out, fika.Errorf(fika.Locked, op, "schema %s of %s has not the tables of this program yet: %s makes them", schema, s.name(), hint.Up)
	}
	var own, database string
	var owner, may, there, login bool
	err = tx.QueryRow(ctx, `SELECT session_user, current_database(), pg_has_role(session_user, (SELECT c.relowner FROM pg_class c WHERE c.oid = to_regclass('meta')), 'MEMBER'),
(SELECT r.rolsuper OR r.rolcreaterole FROM pg_roles r WHERE r.rolname = session_user), EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = $1), EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = $1 AND r.rolcanlogin)`, role).Scan(&own, &database, &owner, &may, &there, &login)
	switch {
	case err != nil:
		return out, s.explain(op, err)
	case !owner:
		return out, fika.Errorf(fika.Denied, op, "the role %s of this home does not own the tables: give this on the host whose role does", own)
	case role == own:
		return out, fika.Errorf(fika.Invalid, op, "%s is the role of this home, which owns the tables", role)
	}
	if !login {
		out.Password = rand.Text()
		out.Admin = []string{
			fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD '%s'`, role, out.Password),
			fmt.Sprintf(`GRANT CONNECT ON DATABASE %s TO %s`, quoteName(database), role),
			fmt.Sprintf(`GRANT %s TO %s`, role, quoteName(own)), // so that it can end the connections of the role
		}
		if there {
			out.Admin = []string{fmt.Sprintf(`ALTER ROLE %s LOGIN PASSWORD '%s'`, role, out.Password)}
		}
		if !may {
			return out, nil
		}
		for _, text := range out.Admin {
			if _, err := tx.Exec(ctx, text); err != nil {
				return out, s.explain(op, err)
			}
		}
		out.Admin = nil
	}
	if err := grantHost(ctx, tx, schema, role); err != nil {
		return out, s.explain(op, err)
	}
	if _, err := tx.Exec(ctx, `UPDATE hosts SET by_host = $1 WHERE name = $2`, role, host); err != nil {
		return out, s.explain(op, err)
	}
	return out, s.explain(op, tx.Commit(ctx))
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

// grantHost lets the role of a host use the tables, and make or change none.
func grantHost(ctx context.Context, tx pgx.Tx, schema, role string) error {
	tables, err := pgx.CollectRows(must(tx.Query(ctx, `SELECT c.relname, array_agg(CAST(a.attname AS TEXT) ORDER BY a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname`, schema)), pgx.RowToStructByPos[struct {
		Name    string
		Columns []string
	}])
	if err != nil {
		return err
	}
	text := fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;\n", schema, role)
	for _, t := range tables {
		may := "SELECT, INSERT, UPDATE, DELETE"
		if stay, guarded := fixed()[t.Name]; guarded {
			set := slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return c == "by_host" })
			change := slices.DeleteFunc(slices.Clone(t.Columns), func(c string) bool { return slices.Contains(stay, c) })
			may = fmt.Sprintf("SELECT, DELETE, INSERT (%s), UPDATE (%s)", strings.Join(set, ", "), strings.Join(change, ", "))
			if t.Name == "hosts" || t.Name == "agent_defs" {
				may = strings.Replace(may, "DELETE, ", "", 1) // only the owner forgets a host
			}
		}
		text += fmt.Sprintf("REVOKE ALL ON %s.%s FROM %s;\nGRANT %s ON %[1]s.%[2]s TO %[3]s;\n", schema, t.Name, role, may)
	}
	_, err = tx.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

// hostRoles returns the roles that were made for hosts: only they may set some columns of an
// entry and not all.
const hostRoles = `SELECT DISTINCT r.rolname FROM pg_attribute a, aclexplode(a.attacl) x JOIN pg_roles r ON r.oid = x.grantee
WHERE a.attrelid = to_regclass($1 || '.entries') AND a.attname = 'content' AND x.privilege_type = 'INSERT'`

// grantHosts lets the roles of hosts that may use one schema use another, which may be the
// same after its tables have changed.
func grantHosts(ctx context.Context, tx pgx.Tx, of, schema string) error {
	roles, err := pgx.CollectRows(must(tx.Query(ctx, hostRoles, of)), pgx.RowTo[string])
	for _, role := range roles {
		if err == nil {
			err = grantHost(ctx, tx, schema, quoteName(role))
		}
	}
	return err
}

// lockOut ends what the role of a host can do: it can log in no more, and its connections
// end. It reports whether the role is that of a host. It fails with Denied if the role of
// this process may not do that.
func (s Hosts) lockOut(ctx context.Context, role string) (bool, error) {
	const op = "lock host out"
	if s.file != nil || role == "" {
		return false, nil
	}
	c, schema, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	defer c.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what it was for has been answered
	roles, err := pgx.CollectRows(must(c.Query(ctx, hostRoles, schema)), pgx.RowTo[string])
	if err != nil || !slices.Contains(roles, role) {
		return false, s.explain(op, err)
	}
	if _, err := c.Exec(ctx, `ALTER ROLE `+quoteName(role)+` NOLOGIN`); err != nil {
		return true, fika.Errorf(fika.Denied, op, "its role can still log in (%v): have an administrator of the server run ALTER ROLE %s NOLOGIN", err, role)
	}
	if _, err := c.Exec(ctx, `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.usename = $1`, role); err != nil {
		return true, fika.Errorf(fika.Denied, op, "its role %s logs in no more, but the connections that it has stay (%v): have an administrator of the server end them", role, err)
	}
	return true, nil
}
