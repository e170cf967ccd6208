/** The host app of the NestJS examples: one controller, whose bodies Nest parses. */
import { Body, Controller, Get, Module, Post } from '@nestjs/common';

@Controller()
class AppController {
  @Get('health')
  health(): { ok: boolean } {
    return { ok: true };
  }

  @Post('notes')
  note(@Body() body: unknown): { body: unknown } {
    return { body };
  }
}

@Module({ controllers: [AppController] })
export class AppModule {}
