/** Signs in whoever states a name. Your sign-in library is here in a real app. */
import { sessionCookie } from '../../sessions';

export async function POST(request: Request): Promise<Response> {
  const name = String((await request.formData()).get('name'));
  const headers = { location: '/', 'set-cookie': sessionCookie(name) };
  return new Response(null, { status: 303, headers });
}
